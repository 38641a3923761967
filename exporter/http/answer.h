/* The callbacks of libmicrohttpd; the closure is a struct listener. */
#ifndef IE_HTTP_ANSWER_H
#define IE_HTTP_ANSWER_H

#include <microhttpd.h>

#include "exporter/http/internal.h"

enum MHD_Result answer_request(void *closure, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **request);
void answer_completed(void *closure, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why);
void answer_connection(void *closure, struct MHD_Connection *connection, void **socket_context,
                       enum MHD_ConnectionNotificationCode what);

#endif
