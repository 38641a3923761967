# The exporter on Debian slim: docker build -t interference_exporter .
#
# The package from the first stage lists its runtime libraries, so the second stage has only those.
# deploy/security.md says which privileges a container needs.
# The base by its digest, for a build that can be made again:
# --build-arg BASE=docker.io/library/debian@sha256:...
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
COPY deploy/debian deploy/debian
COPY deploy/interference_governor.json deploy/pages.awk deploy/sbom.sh deploy/
# ON: with interference_governor, which acts, in the image as well (deploy/governor.md).
ARG GOVERNOR=OFF
# The commit, for interference_exporter_build_info: --build-arg REVISION=$(git rev-parse HEAD)
ARG REVISION=
RUN cmake -S . -B build -G Ninja -DIE_REVISION="$REVISION" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIE_TESTS=OFF \
        -DIE_BPF=REQUIRED -DIE_GOVERNOR="$GOVERNOR" \
        -DCMAKE_INSTALL_PREFIX=/usr && \
    cmake --build build && \
    cpack -G DEB --config build/CPackConfig.cmake -B package

FROM ${BASE}
# /usr/share/doc/interference-exporter/sbom.spdx lists what the image consists of.
RUN --mount=type=bind,from=build,source=/source,target=/source \
    apt-get -qq update && \
    apt-get -qq -y --no-install-recommends install /source/package/*.deb >/dev/null && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log && \
    mkdir -p /usr/share/doc/interference-exporter && \
    /source/deploy/sbom.sh >/usr/share/doc/interference-exporter/sbom.spdx
# SOURCE: where your copy of the source is. A licence is not named here, since none is stated.
ARG BASE
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="interference_exporter" \
      org.opencontainers.image.description="Per-container memory latency and interference, for Prometheus" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE}"
EXPOSE 10066
# With another --web.listen-address or a --web.config.file, set another --health-cmd: this with the same
# flags. Kubernetes has its own probes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["/usr/bin/interference_exporter", "--healthcheck"]
# UID 0 on purpose: only root receives the capabilities that a runtime adds, and the exporter drops
# all except CAP_PERFMON at start, and root with --process.user. It also runs as any other user, but
# then without counters.
USER 0:0
ENTRYPOINT ["/usr/bin/interference_exporter"]
