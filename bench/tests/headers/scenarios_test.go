package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/lab/scenario"
	"dyno/parts/httploop/headersets"
)

var update = flag.Bool("update", false, "write the scenarios")

// measured are the programs of the scenarios, one use of each.
var measured = []struct {
	variant, name string
	chunked       bool // alone distinguishes it
}{
	{"nginx", "nginx, X-Forwarded", false}, {"haproxy", "haproxy, option forwardfor", false}, {"haproxy-cookie", "haproxy, cookie insert (derived)", false},
	{"caddy", "Caddy, reverse_proxy", false}, {"apache", "Apache httpd, ProxyPass", false},
	{"varnish", "Varnish", false}, {"node-fetch", "node fetch", false}, {"viem", "viem", false}, {"axios", "axios", false}, {"requests", "requests", false}, {"httpx", "httpx", false},
	{"aiohttp", "aiohttp", false}, {"java", "java.net.http", false}, {"okhttp", "OkHttp", false}, {"dotnet", ".NET HttpClient, PostAsJsonAsync", false}, {"curl", "curl", false},
	{"go", "Go net/http", false}, {"go-chunked", "Go net/http, a body of unknown length", true},
}

// service is one of those that are measured.
type service struct {
	name, target, load string
	method             string
	token              string // in an Authorization; "": the service asks for none
}

// collector answers 200 to whatever spans it receives.
const collector = `  - name: collector
    shared: true
    build: ./subjects/echo
`

var services = []service{
	{"notifyd", `target:
  build: ./services/cmd/notifyd
  args: [serve, --lame-duck, 0s, --listen, "127.0.0.1:0", --debug, "127.0.0.1:0", --log-level, warn, --data, "${scratch}", --assembly, tuned]

companions:
` + collector, `load:
  url: http://${target.listen}/v1/notices
  method: POST
  headers: {Content-Type: application/json}
  body: '{"id":"${run}-${id}","key":"${key}","type":"order.shipped","payload":{"note":"${random:160}"}}'
  keys: {count: 10000}
  check: {status: [202]}
  connections: 64
  timeout: 10s
`, "POST", ""},
	{"chaind", `target:
  build: ./services/chain/cmd/chaind
  args: [serve, --lame-duck, 0s, --listen, "127.0.0.1:0", --debug, "127.0.0.1:0", --log-level, warn, --data, "${scratch}", --assembly, tuned]

companions:
` + collector, `load:
  url: http://${target.listen}/
  method: POST
  headers: {Content-Type: application/json}
  body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
  check: {json: [{path: result, exists: true}]}
  connections: 64
  timeout: 10s
`, "POST", ""},
	{"ordersd", `target:
  build: ./services/cmd/ordersd
  args: [serve, --lame-duck, 0s, --listen, "127.0.0.1:0", --debug, "127.0.0.1:0", --log-level, warn, --data, "${scratch}", --dsn, "${database.dsn}", --jwt-keys, dyno-out/orders-jwks.json, --assembly, tuned]

companions:
  - name: database
    shared: true
    build: ./services/cmd/ordersd
    args: [postgres, --data, dyno-out/orders-postgres, --rows, 100000, --accounts, 1000, --set, max_connections=1000]
    ready: {timeout: 3m}
` + collector, `load:
  url: http://${target.listen}/api/v1/order?uid=${row.uid}
  headers: {Authorization: "Bearer ${row.token}"}
  feeder: {build: ./services/cmd/ordersd, args: [feed, --rows, 100000, --count, 20000, --jwt-keys, dyno-out/orders-jwks.json], format: csv}
  check: {status: [200]}
  connections: 64
  timeout: 10s
`, "GET", "Bearer ${row.token}"},
}

// text returns the scenario of a service.
func (s service) text(sets []headersets.Set) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, `# yaml-language-server: $schema=../lab/scenario/schema.json
# Written from parts/httploop/headersets by go test ./bench/tests/headers -update
name: headers-%[1]s
description: |
  What the header fields of real proxies and clients cost %[1]s: its CPU per request with each, beside that of a request
  that has only what the service needs; and each with a traceparent. The fields are recorded from the programs
  (parts/httploop/headersets has their versions). The last two variants make spans, of a hundredth of the requests and
  of all.
mode: compare

%[2]s
%[3]s
slo: p99=50ms,errors=0.1%%

variants:
  - name: bare
    change: only what %[1]s needs
`, s.name, s.target, s.load)
	needed, _, _ := strings.Cut(s.load[strings.Index(s.load, "headers: {")+len("headers: {"):], "}\n")
	fmt.Fprintf(&out, "  - name: bare-traced\n    change: the same, with a traceparent\n    load: {headers: {%s, %s}}\n", needed, yaml(headersets.Traceparent))
	for _, m := range measured {
		i := slices.IndexFunc(sets, func(o headersets.Set) bool { return o.Name() == m.name })
		if i < 0 {
			return "", fmt.Errorf("there is no set %q", m.name)
		}
		fields := sets[i].Post
		if s.method == "GET" {
			fields = sets[i].Get
		}
		if len(fields) == 0 || s.method == "GET" && m.chunked {
			continue // it sends no such request, or one like another's
		}
		plain := fields.Without("traceparent")
		for _, v := range []struct {
			name, change string
			fields       headersets.Fields
		}{{m.variant, m.name + " " + sets[i].Version, plain}, {m.variant + "-traced", "the same, with a traceparent", plain.With(headersets.Traceparent)}} {
			headers, err := s.headers(v.fields)
			if err != nil {
				return "", fmt.Errorf("%s: %w", m.name, err)
			}
			change, err := json.Marshal(v.change)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "  - name: %s\n    change: %s\n    load: {headers: {%s}}\n", v.name, change, headers)
		}
	}
	for _, percent := range []int{1, 100} {
		fmt.Fprintf(&out, "  - name: otlp-%d\n    change: %d%% of the requests are traced\n    args: [--otlp, \"http://${collector.listen}\", --otlp-sample, \"%g\"]\n", percent, percent, float64(percent)/100)
	}
	return out.String() + "\nmeasure:\n  budget: 40m\n", nil
}

// overTLS returns the scenario of a service over TLS. Its load is net/http's in both variants, as the raw
// engine has no TLS, and another generator costs a service another CPU time per request.
func (s service) overTLS() string {
	_, after, _ := strings.Cut(s.load, "http://")
	address, _, _ := strings.Cut(after, "\n")
	return fmt.Sprintf(`# yaml-language-server: $schema=../lab/scenario/schema.json
# Written by go test ./bench/tests/headers -update
name: tls-%[1]s
description: |
  What TLS 1.3 costs %[1]s on connections that stay: its CPU per request, beside that of the same requests without.
mode: compare

%[2]s
%[3]s  engine: std
  tls: {insecure: true}

slo: p99=50ms,errors=0.1%%

variants:
  - name: plain
    change: without TLS
  - name: tls
    change: over TLS 1.3
    args: [--tls-cert, scenarios/testdata/localhost.pem, --tls-key, scenarios/testdata/localhost.pem]
    load: {url: "https://%[4]s"}
`, s.name, strings.TrimSuffix(strings.TrimSuffix(s.target, collector), "\ncompanions:\n"), s.load, address)
}

// headers returns fields as the members of a YAML mapping.
func (s service) headers(fields headersets.Fields) (string, error) {
	var members, names []string
	for _, line := range fields {
		name := strings.ToLower(headersets.NameOf(line))
		switch name {
		case "host", "content-length": // the load's
			continue
		case "authorization":
			if s.token == "" {
				continue
			}
			line = headersets.NameOf(line) + ": " + s.token
		}
		if slices.Contains(names, name) {
			return "", fmt.Errorf("it has two fields %s", name)
		}
		names, members = append(names, name), append(members, yaml(line))
	}
	return strings.Join(members, ", "), nil
}

// yaml quotes a field's value.
func yaml(line string) string {
	name, value, _ := strings.Cut(line, ":")
	quoted, _ := json.Marshal(strings.TrimSpace(value)) // a string has a form in JSON
	return name + ": " + string(quoted)
}

// The scenarios are what was recorded, and can be run.
func TestScenarios(t *testing.T) {
	sets, err := headersets.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		headers, err := s.text(sets)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"headers-": headers, "tls-": s.overTLS()} {
			file := filepath.Join("..", "..", "..", "scenarios", name+s.name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != want {
				t.Errorf("%s is not what was recorded (%v): write it with go test ./bench/tests/headers -update", file, err)
			}
			if _, err := scenario.Parse(file, got); err != nil {
				t.Error(err)
			}
		}
	}
}
