// SPDX-License-Identifier: Apache-2.0
module gnomon/tests/peers

go 1.25.0

require (
	github.com/google/pprof v0.0.0-20260507013755-92041b743c96
	github.com/grafana/jfr-parser v0.18.0
)

require golang.org/x/text v0.37.0 // indirect
