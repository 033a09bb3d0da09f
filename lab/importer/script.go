package importer

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Script is a script of a tool, which that tool runs: k6 or Locust.
type Script struct {
	Tool   string // as dyno windows --from takes it
	Path   string // of the script, from the folder in which dyno runs
	Target string // base URL to send the requests to; empty: not known
}

var toolNames = map[string]string{"k6": "k6", "locust": "Locust"}

// assumed is the target of a scenario whose user did not name one.
const assumed = "http://127.0.0.1:8080"

// Scenario returns a scenario that starts the tool with a number of users, and finds the highest
// number that meets an SLO.
func (s Script) Scenario() ([]byte, error) {
	u, err := url.Parse(cmp.Or(s.Target, assumed))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("the target must be a URL such as %s, not %q", assumed, Address(s.Target))
	}
	if !utf8.ValidString(s.Path) {
		return nil, fmt.Errorf("a scenario is UTF-8, and the script's name %q is not; rename it", s.Path)
	}
	base := filepath.Base(s.Path)
	target, where := u.Scheme+"://"+u.Host, "a service that already runs; to let dyno start it, write build or command instead (see dyno init)"
	if s.Target == "" {
		where = "assumed: write the URL to which " + base + " sends its requests"
	}
	args := []string{"--from", s.Tool, "--sessions", "${sessions}", "--warmup", "${warmup}", "--duration", "${duration}"}
	if s.Tool == "locust" || s.Target != "" {
		args = append(args, "--url", "${target.url}"+workload.Literal(strings.TrimSuffix(u.EscapedPath(), "/")))
	}
	path := filepath.ToSlash(s.Path)
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	name := strings.TrimLeft(slug(strings.TrimSuffix(base, filepath.Ext(base))), "-_")
	text, err := written(&scenario.Scenario{
		Name:    cmp.Or(name[:min(len(name), 64)], "imported"),
		Mode:    record.KindCapacity,
		Target:  scenario.Target{URL: target},
		Load:    workload.Load{Kind: workload.Sessions, Driver: &workload.Program{Command: []string{"dyno", "windows"}, Args: append(args, workload.Literal(path))}},
		SLO:     record.SLO{Latency: map[string]float64{"p95": 100}, Errors: 0.01},
		Measure: scenario.Measure{Length: 10 * time.Second},
	}, scenario.Comments{
		Top: []string{
			"Made by dyno import: " + toolNames[s.Tool] + " runs " + base + " itself; a session is a virtual user.",
			s.note(),
			"Latency is that of a closed loop: a user waits for each answer, so a stall of the service hides requests.",
		},
		Above: map[string]string{
			"mode":    "find the most users that meet the slo; dyno run and dyno capacity both take this file",
			"target":  where,
			"load":    "dyno windows --help; arguments for " + toolNames[s.Tool] + ` follow "--"`,
			"measure": "users that pause between requests send few: let a run be long enough",
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the name of the script does not fit into a scenario: %w", err)
	}
	return text, nil
}

// note states what the tool does with the target.
func (s Script) note() string {
	switch {
	case s.Tool == "locust":
		return "Locust sends the requests to the target (--host), whatever host its classes name."
	case s.Target != "":
		return "The script has the target as __ENV.BASE_URL; URLs that it has in itself stay."
	}
	return "The requests go to the URLs in the script; write --url \"${target.url}\" to give it the target as __ENV.BASE_URL."
}
