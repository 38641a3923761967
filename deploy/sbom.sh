#!/bin/bash
# What a Debian system consists of, as SPDX 2.3: deploy/sbom.sh >sbom.spdx
#
# From dpkg's own list, by which scanners judge an image too. Licences are in each package's
# /usr/share/doc/PACKAGE/copyright and not repeated here. SOURCE_DATE_EPOCH is the date, if set.
set -euo pipefail
export LC_ALL=C

cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: interference_exporter-image
DocumentNamespace: urn:uuid:$(cat /proc/sys/kernel/random/uuid)
Creator: Tool: deploy/sbom.sh-$(dpkg-query --version | sed -n '1s/.* \([0-9.]*[0-9]\).*/dpkg-\1/p')
Created: $(date --utc --date="@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
END

# shellcheck disable=SC2016 # dpkg-query's
format='${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n'
dpkg-query --show --showformat="$format" | awk -F '\t' '
    # As in addresses.
    function quoted(text) { gsub(/%/, "%25", text); gsub(/:/, "%3A", text); gsub(/\+/, "%2B", text); return text }
    $1 != "installed" { next }
    {
        id = $2 "-" $4
        gsub(/[^A-Za-z0-9.-]/, "-plus-", id)
        print "\nPackageName: " $2
        print "SPDXID: SPDXRef-" id
        print "PackageVersion: " $3
        print "PackageDownloadLocation: NOASSERTION"
        print "FilesAnalyzed: false"
        print "PackageSourceInfo: built from " $5 " " $6
        print "PackageLicenseConcluded: NOASSERTION"
        print "PackageLicenseDeclared: NOASSERTION"
        print "PackageCopyrightText: NOASSERTION"
        if ($2 != "interference-exporter") # which is not of Debian
            print "ExternalRef: PACKAGE-MANAGER purl pkg:deb/debian/" quoted($2) "@" quoted($3) "?arch=" $4
        ids[++n] = id
    }
    END {
        print ""
        for (i = 1; i <= n; i++)
            print "Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-" ids[i]
    }'
