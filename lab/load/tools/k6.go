package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"dyno/lab/load"
)

// K6 reads the points of k6's output "json". It uses the durations of HTTP and gRPC requests,
// which k6 measures from sending to the last byte, without connecting. It leaves out requests
// made by setup and teardown.
var K6 = Form{Name: "k6", None: "only HTTP and gRPC requests of the script are counted; see its log", read: readK6}

// K6Tags lists the tags that K6 needs, for k6's option --system-tags.
const K6Tags = "status,error_code,expected_response,group,vu"

// point is a line of the output "json". The user's number is in the metadata, or, up to k6 0.40,
// in the tags.
type point struct {
	Type   string `json:"type"`
	Metric string `json:"metric"`
	Data   struct {
		Time     time.Time         `json:"time"`
		Value    float64           `json:"value"` // ms
		Tags     map[string]string `json:"tags"`
		Metadata map[string]string `json:"metadata"`
	} `json:"data"`
}

func readK6(line []byte) (request, bool) {
	var p point
	if !bytes.Contains(line, []byte(`_req_duration"`)) || json.Unmarshal(line, &p) != nil || p.Type != "Point" {
		return request{}, false
	}
	grpc := p.Metric == "grpc_req_duration"
	if !grpc && p.Metric != "http_req_duration" {
		return request{}, false
	}
	tags := p.Data.Tags
	if group := tags["group"]; group == "::setup" || group == "::teardown" || !(p.Data.Value >= 0) || p.Data.Time.IsZero() {
		return request{}, false
	}
	q := request{user: cmp.Or(p.Data.Metadata["vu"], tags["vu"]), done: p.Data.Time.UnixNano(), took: int64(math.Min(p.Data.Value, 3.6e6) * 1e6)}
	if len(q.user) > maxName {
		q.user = ""
	}
	code, _ := strconv.Atoi(tags["status"])
	switch {
	case grpc && code == 0: // gRPC's status OK
		q.status, q.success = load.OK, true
	case grpc:
		q.status = load.Other
	default:
		q.status = statusOf(code, k6Kind(tags["error_code"]))
		q.success = tags["expected_response"] == "true" || tags["expected_response"] == "" && code >= 200 && code < 400
	}
	return q, true
}

// k6Kind returns the kind of failure for an error code of k6's.
func k6Kind(code string) load.Status {
	switch code {
	case "1050", "1211":
		return load.Timeout
	case "1212":
		return load.Refused
	case "1201", "1220":
		return load.Reset
	}
	switch n, _ := strconv.Atoi(code); {
	case n >= 1100 && n < 1400:
		return load.Connect
	case n >= 1600 && n < 1800:
		return load.Malformed
	}
	return load.Other
}
