package deploy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/timeseries"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// started starts every service with a data folder of its own, and returns their processes.
func started(t *testing.T) map[string]*process.Process {
	t.Helper()
	quicktest.Skip(t, "builds and starts five services")
	data, err := os.MkdirTemp("", "deploy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	if err := os.Chmod(data, 0o711); err != nil { // PostgreSQL has a user of its own when root runs the test
		t.Fatal(err)
	}
	bin := func(name string) string { return builds.Program(t, packageOf(name)) }
	xrpl := processtest.Start(t, bin("ledgersync"), "sim", "--listen", "127.0.0.1:0", "--ledgers", "10", "--tip-every", "1s", "--validators", "3")
	of := map[string][]string{"ledgersync": {"--follow", "--server", "http://" + xrpl.Ready()["listen"]}}
	running := map[string]*process.Process{}
	for _, name := range services {
		args := []string{bin(name), "serve", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--lame-duck", "0s", "--data", filepath.Join(data, name)}
		running[name] = processtest.Start(t, append(args, of[name]...)...)
	}
	return running
}

// A service refuses the data folder of a newer format in words, and leaves it as it is.
func TestNewerFormatIsRefused(t *testing.T) {
	quicktest.Skip(t, "builds five services")
	for _, name := range services {
		dir := filepath.Join(t.TempDir(), name)
		text := `{"service":"` + name + `","format":99}`
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "FORMAT"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), builds.Program(t, packageOf(name)), "serve", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", dir)
		out, err := command.CombinedOutput()
		if command.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(out), name+": data folder "+dir+" has format 99, written by a newer "+name) ||
			!strings.Contains(string(out), "start that program, or restore a backup") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if now, err := os.ReadFile(filepath.Join(dir, "FORMAT")); err != nil || string(now) != text {
			t.Errorf("%s: its folder has %s now, %v", name, now, err)
		}
	}
}

// sample is a line of the text format: the name, and the labels.
var sample = regexp.MustCompile(`(?m)^([a-z][\w:]*)(?:\{(.*)\})? `)

// exposed reads /metrics of a debug address.
func exposed(t testing.TB, debug string) metrics {
	t.Helper()
	m := metrics{}
	for _, line := range sample.FindAllStringSubmatch(get(t, "http://"+debug+"/metrics"), -1) {
		if m[line[1]] == nil {
			m[line[1]] = map[string]bool{}
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(line[2], -1) {
			m[line[1]][label[1]] = true
		}
	}
	return m
}

func get(t testing.TB, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %s %v", url, answer.StatusCode, body, err)
	}
	return string(body)
}

// What dashboards and rules ask for is what the services expose; and Prometheus, where it is
// installed, answers every query of a dashboard with data.
func TestServicesExposeWhatIsAsked(t *testing.T) {
	running := started(t)
	servicetest.Await(t, func() string { return "a tip" }, func() bool {
		return strings.Contains(get(t, "http://"+running["ledgersync"].Ready()["debug"]+"/metrics"), "ripple_follow_connected{")
	})
	asked := every(t)
	for name, p := range running {
		m := exposed(t, p.Ready()["debug"])
		for _, q := range append(asked[name], asked["services"]...) {
			if missing, err := m.unknown(q.expr); err != nil || len(missing) > 0 {
				t.Errorf("%s does not expose what %s asks: %s %v", name, q.where, strings.Join(missing, ", "), err)
			}
		}
	}
	t.Run("Prometheus", func(t *testing.T) { queried(t, running) })
}

// What the lab sends of a run is what its dashboard and rules ask for.
func TestLabSendsWhatIsAsked(t *testing.T) {
	ladder, turns := reporttest.Ladder(), reporttest.Turns(record.KindLadder)
	m := metrics{}
	for _, s := range append(timeseries.Of(ladder.Experiment, ladder.Report()), timeseries.Of(turns.Experiment, turns.Report())...) {
		if m[s.Name] == nil {
			m[s.Name] = map[string]bool{}
		}
		for label := range s.Labels {
			m[s.Name][label] = true
		}
	}
	for _, q := range every(t)["lab"] {
		if missing, err := m.unknown(q.expr); err != nil || len(missing) > 0 {
			t.Errorf("the lab does not send what %s asks: %s %v", q.where, strings.Join(missing, ", "), err)
		}
	}
}

// packageOf returns the package of a service's command.
func packageOf(command string) string {
	switch command {
	case "chaind":
		return "dyno/services/chain/cmd/chaind"
	case "ledgersync":
		return "dyno/services/ledger/cmd/ledgersync"
	}
	return "dyno/services/cmd/" + command
}
