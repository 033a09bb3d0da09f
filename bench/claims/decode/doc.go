// Package decode compares ledgersync's decoders of a server's answer with encoding/json,
// go-json-experiment and simdjson-go: go test -bench . ./bench/claims/decode. It is not for use by
// programs.
package decode
