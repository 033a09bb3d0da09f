package deploy

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rules is a file of alert rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// ruleFiles are the files of alert rules, by their names: the services', that of all services, and
// the lab's.
func ruleFiles(t testing.TB) map[string]rules {
	t.Helper()
	all := map[string]rules{}
	for _, file := range glob(t, "prometheus/rules/*.yaml") {
		var r rules
		decode(t, file, &r)
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = r
	}
	return all
}

// An alert has a severity, a summary, a runbook that exists, and tests.
func TestAlertsAreExplained(t *testing.T) {
	for name, file := range ruleFiles(t) {
		tests := string(read(t, folder+"prometheus/tests/"+name+".yaml"))
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
					t.Errorf("%s: severity %q", r.Alert, s)
				}
				if r.Annotations["summary"] == "" {
					t.Errorf("%s has no summary", r.Alert)
				}
				page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
				if anchor != strings.ToLower(r.Alert) {
					t.Errorf("%s has the runbook %s", r.Alert, r.Annotations["runbook_url"])
				}
				if !regexp.MustCompile(`(?m)^#+ ` + r.Alert + `$`).Match(read(t, filepath.Join(root, page))) {
					t.Errorf("%s has no heading %s", page, r.Alert)
				}
				if !strings.Contains(tests, "alertname: "+r.Alert+"\n") {
					t.Errorf("prometheus/tests/%s.yaml has no test of %s", name, r.Alert)
				}
			}
		}
	}
}

// promtool accepts the configuration and every rule; each alert fires when it should, and only
// then.
func TestPromtool(t *testing.T) {
	promtool := program(t, "promtool", "prometheus")
	run := func(args ...string) {
		if said, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	run("check", "config", folder+"prometheus/prometheus.yml")
	run(append([]string{"check", "rules"}, glob(t, "prometheus/rules/*.yaml")...)...)
	run(append([]string{"test", "rules"}, glob(t, "prometheus/tests/*.yaml")...)...)
}

// program returns the path of a program that a Debian package has; the test skips where it is
// missing.
func program(t testing.TB, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install %s", name, pkg)
	}
	return path
}
