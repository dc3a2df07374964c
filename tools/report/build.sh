#!/usr/bin/env bash
# Builds assets/report/page.html, the page of lxla_report, from page/ and the libraries of package-lock.json. Needs
# Node.js 20 or later. The result is committed, so that nobody who builds the library needs this.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund
node build.mjs
