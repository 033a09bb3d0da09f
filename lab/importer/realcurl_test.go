package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// commands are run by curl itself and read by this package; SERVER is the address of the test's
// server.
var commands = []string{
	// patterns
	`curl -s 'http://SERVER/list?tag\[\]=a&tag\[\]=b' 'http://SERVER/set\{a\}'`,
	`curl -s 'http://SERVER/n/[08-12:2]/{x,y\,z,}' 'http://SERVER/[c-e][A-B]'`,
	`curl -s 'http://127.0.0.[1-1]:PORT/host' 'http://{127.0.0.1,localhost}:PORT/'`,
	`curl -s -g 'http://SERVER/?a[0]=1&b={2,3}&c=\[x\]'`,
	`curl -s --globoff 'http://SERVER/[1-2]' --no-globoff`,
	`curl -s 'http://SERVER/empty/[]' 'http://SERVER/[7-7]' 'http://SERVER/[1- 2]'`,
	`curl -s 'http://SERVER/[3-1]'`, `curl -s 'http://SERVER/{'`, `curl -s 'http://SERVER/[1-5:9]'`, `curl -s 'http://SERVER/a]'`,
	`curl -s http://SERVER/brace/{1..3} http://SERVER/{p,q}`,
	// how curl changes a URL
	`curl -s http://SERVER/a/./b/../../c/.. 'http://SERVER/x/../../y/.'`,
	`curl -s --path-as-is http://SERVER/a/../b 'http://SERVER/./c'`,
	`curl -s 'http://SERVER?x=1' http://SERVER 'http://SERVER/q?' 'http://SERVER/f#part' 'SERVER/bare' 'HTTP://SERVER/capitals' 'http:///SERVER/three'`,
	`curl -s http://SERVER//a//b/ http://SERVER//`, `curl -s 'http://SERVER//one?u=http://x'`,
	`curl -s 'http://SERVER/a%2Fb|c\d^e'`, `curl -s 'http://SERVER/a b'`, `curl -s http://SERVER/größe`,
	`curl -s --request-target /other http://SERVER/one`,
	// data
	`curl -s http://SERVER/ -d a=1 --data-ascii b=2 --data-raw @c --data @body.txt --data-binary @body.txt`,
	`curl -s http://SERVER/ --data-urlencode 'a b&c~d' --data-urlencode '=x=y' --data-urlencode 'n=ä +' --data-urlencode @body.txt --data-urlencode 'f@body.txt'`,
	`curl -s -G http://SERVER/g?have=1 -d a=1 --data-urlencode 'b=2 3'`, `curl -s -G 'http://SERVER/g?' -d x`, `curl -s -G http://SERVER/ -d 'a b'`,
	`curl -s --url-query 'q=1 2' --url-query '+raw%20x' http://SERVER/u?z`, `curl -s --url-query 'q=1' -G -d a=2 http://SERVER/both`,
	`curl -s --json '{"a":' --json '1}' http://SERVER/j`, `curl -s --json '{}' -H 'content-type: application/problem+json' -XPATCH http://SERVER/j`,
	`curl -s --json x -G http://SERVER/`, `curl -s -I http://SERVER/head`, `curl -s -I -G -d a=1 http://SERVER/head`, `curl -s -I -d a=1 http://SERVER/`,
	`curl -s -T body.txt http://SERVER/up/`, `curl -s -T body.txt http://SERVER/up http://SERVER/plain`, `curl -s -T body.txt -d x http://SERVER/`,
	// fields
	`curl -s http://SERVER/ -H 'X-A: 1' -H 'X-Empty;' -H 'Accept:' -H 'nothing' -A agent/1 -e 'http://r/;auto'`,
	`curl -s http://SERVER/ -d x -H 'Content-Type:'`, `curl -s http://SERVER/ -H @fields.txt -A first -A second`,
	`curl -s http://SERVER/ -b a=1 -b 'b=2; c=3'`, `curl -s http://SERVER/ -b a=1 -H 'Cookie: z=9'`,
	`curl -s http://SERVER/ -u me:pw`, `curl -s http://me:pw@SERVER/`, `curl -s -u x:y http://me:pw@SERVER/`,
	`curl -s http://SERVER/ --oauth2-bearer tok`, `curl -s http://SERVER/ -u a:b -H 'Authorization: Custom c'`,
	`curl -s -r 5 http://SERVER/`, `curl -s -r 0-3,7-9 http://SERVER/`, `curl -s -r 0-5 -d abc http://SERVER/`, `curl -s -C 12 http://SERVER/`,
	`curl -s --compressed http://SERVER/`, `curl -s --compressed --no-compressed http://SERVER/`,
	// options and their values
	`curl -sSXPUT -dbody=1 -HX-Glued:yes -o/dev/null http://SERVER/glued`, `curl -sSo /dev/null -m 5 --connect-timeout 3 http://SERVER/`,
	`curl -s --max-t 9 --user-ag short http://SERVER/`, `curl -s --no-such-option http://SERVER/`, `curl -s --no-data x http://SERVER/`,
	`curl -s --cookie-jar /dev/null --retry 0 --keepalive-time 3 --tls-max 1.3 --ciphers ALL --stderr - http://SERVER/`,
	`curl -s -w '%{http_code}' --proto =http --noproxy '*' --limit-rate 1M --max-redirs 2 --interface 127.0.0.1 http://SERVER/`,
	`curl -s http://SERVER/a -d --next --next http://SERVER/b -X DELETE -: http://SERVER/c`, `curl -s -- http://SERVER/after`,
	`curl -s --url http://SERVER/1 -Z --url http://SERVER/2 --parallel-max 1`, `curl -sX OPTIONS http://SERVER/ --`,
}

// seen is a request as it arrives.
type seen struct {
	Method, Target, Body string
	Header               map[string]string
}

// TestAsCurlDoes runs each command with the curl of this machine: its requests must equal those of
// the scenario. If there are none, something must be listed as left out.
func TestAsCurlDoes(t *testing.T) {
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"body.txt": "l1 &\r\nl2=ü\n", "fields.txt": "X-One: 1\n# no field\nX-Two: 2\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var (
		mu       sync.Mutex // guards requests
		requests []seen     // that arrived
	)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, seen{r.Method, capitals(r.RequestURI), string(body), fieldsOf(r.Header)})
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	for _, command := range commands {
		command = strings.NewReplacer("SERVER", address, "PORT", port).Replace(command)
		t.Run(command, func(t *testing.T) {
			c := exec.Command("bash", "-c", strings.Replace(command, "curl", program+" -q", 1))
			c.Dir, c.Env = folder, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
			said, failed := c.CombinedOutput()
			got, left := imported(t, command, folder)
			mu.Lock()
			var arrived []seen
			arrived, requests = requests, nil
			mu.Unlock()
			if len(arrived) == 0 && failed == nil || len(got) == 0 && len(left) == 0 {
				t.Fatalf("nothing arrived: %s; left %v", said, left)
			}
			for i := range arrived {
				arrived[i].Header = curls(arrived[i].Header, got, i)
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", arrived) {
				t.Errorf("curl sends\n%+v (%v %s)\nthe scenario\n%+v\nleft out %v", arrived, failed, said, got, left)
			}
		})
	}
}

var escape = regexp.MustCompile(`%[0-9a-f]{2}`)

// capitals writes escapes in capitals (RFC 3986, 2.1).
func capitals(target string) string { return escape.ReplaceAllStringFunc(target, strings.ToUpper) }

// curls removes the fields that curl adds by default, and differences between its versions.
func curls(fields map[string]string, got []seen, i int) map[string]string {
	out := maps.Clone(fields)
	for name, value := range map[string]string{"User-Agent": "curl/", "Accept": "*/*"} {
		if strings.HasPrefix(out[name], value) && (i >= len(got) || got[i].Header[name] == "") {
			delete(out, name)
		}
	}
	if have, ok := out["Cookie"]; ok { // earlier versions join several -b without the space
		out["Cookie"] = strings.ReplaceAll(strings.ReplaceAll(have, "; ", ";"), ";", "; ")
	}
	return out
}

// fieldsOf joins the values of each field, without Content-Length and Expect.
func fieldsOf(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		if name != "Content-Length" && name != "Expect" {
			out[name] = strings.Join(values, ", ")
		}
	}
	return out
}

// imported returns the requests of the scenario that is made from a command, in their order.
func imported(t *testing.T, command, folder string) (out []seen, left []Omission) {
	t.Helper()
	form, err := FormOf("curl", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	load, err := form.Read([]byte(command), filesNextTo(folder))
	if err != nil {
		t.Fatal(err)
	}
	// The server has two names; a scenario has one target.
	for i := range load.Requests {
		load.Requests[i].URL = strings.Replace(load.Requests[i].URL, "localhost", "127.0.0.1", 1)
	}
	got, err := Convert(load, Options{Name: "x", Kind: Flows, Secrets: true, Rows: "x.rows.ndjson"})
	if err != nil {
		return nil, got.Left
	}
	row := map[string]string{}
	if len(got.Files) > 0 {
		if err := json.Unmarshal(got.Files[0].Data, &row); err != nil {
			t.Fatal(err)
		}
	}
	filled := func(s string) string {
		for name, value := range row {
			s = strings.ReplaceAll(s, "${row."+name+"}", value)
		}
		return strings.ReplaceAll(s, "$$", "$")
	}
	s, err := scenario.Parse("x", got.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	steps := s.Load.Steps
	if len(steps) == 0 {
		only := s.Load.Requests[0]
		only.Path = strings.TrimPrefix(s.Load.URL, "${target.url}")
		steps = []workload.Step{{Request: only}}
	}
	for _, step := range steps {
		header := http.Header{}
		for name, value := range s.Load.Headers {
			header.Set(name, filled(value))
		}
		for name, value := range step.Headers {
			header.Set(name, filled(value))
		}
		out = append(out, seen{step.Method, filled(step.Path), filled(step.Body.Text), fieldsOf(header)})
	}
	return out, slices.Clone(got.Left)
}
