# The exporter on Debian slim: docker build -t interference_exporter .
#
# The package from the first stage lists its runtime libraries, so the second stage has only those.
# deploy/README.md says which privileges a container needs.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /source
COPY deploy/packages-build.txt deploy/
RUN apt-get -qq update && \
    xargs -a deploy/packages-build.txt \
        apt-get -qq -y --no-install-recommends install dpkg-dev file >/dev/null
COPY CMakeLists.txt ./
COPY collectors collectors
COPY exporter exporter
COPY deploy/systemd deploy/systemd
# The commit, for interference_exporter_build_info: --build-arg REVISION=$(git rev-parse HEAD)
ARG REVISION=
RUN cmake -S . -B build -G Ninja -DIE_REVISION="$REVISION" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIE_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr && \
    cmake --build build && \
    cpack -G DEB --config build/CPackConfig.cmake -B package

FROM ${BASE}
RUN --mount=type=bind,from=build,source=/source/package,target=/package \
    apt-get -qq update && \
    apt-get -qq -y --no-install-recommends install /package/*.deb >/dev/null && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
LABEL org.opencontainers.image.title="interference_exporter" \
      org.opencontainers.image.description="Per-container memory latency and interference, for Prometheus"
EXPOSE 10066
# There is no HTTP client in the image, but bash can speak enough HTTP. With another
# --web.listen-address, set another --health-cmd; Kubernetes has its own probes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/10066 && printf 'GET /-/healthy HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# UID 0 on purpose: only root receives the capabilities that a runtime adds, and the exporter drops
# all except CAP_PERFMON at start. It also runs as any other user, but then without counters.
USER 0:0
ENTRYPOINT ["/usr/bin/interference_exporter"]
