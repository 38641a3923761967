#include "exporter/governor/decide/control/control_response.h"

#include <math.h>

void control_response_add(struct control_response *response, double x, double y, double forget)
{
    double keep = 1 - forget;
    double dx = x - response->mean_x, dy = y - response->mean_y;
    response->n = response->n * keep + 1;
    response->mean_x += dx / response->n;
    response->mean_y += dy / response->n;
    response->sxx = response->sxx * keep + dx * (x - response->mean_x);
    response->sxy = response->sxy * keep + dx * (y - response->mean_y);
    response->syy = response->syy * keep + dy * (y - response->mean_y);
}

double control_response_slope(const struct control_response *response)
{
    return response->sxx > 1e-9 ? response->sxy / response->sxx : NAN;
}

double control_response_deviation(const struct control_response *response)
{
    double slope = control_response_slope(response);
    if (isnan(slope) || !(response->n > 2))
        return NAN;
    double residual = fmax(response->syy - slope * response->sxy, 0);
    return sqrt(residual / (response->n - 2) / response->sxx);
}
