package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/freeport"
	"dyno/parts/process"
	"dyno/parts/servicetest"
)

// queried has Prometheus scrape the services, and asks it what each panel does.
func queried(t *testing.T, running map[string]*process.Process) {
	prometheus := program(t, "prometheus", "prometheus")
	rules, err := filepath.Abs(folder + "prometheus/rules")
	if err != nil {
		t.Fatal(err)
	}
	config := "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: ['" + rules + "/*.yaml']\nscrape_configs:\n"
	for name, p := range running {
		config += fmt.Sprintf("  - {job_name: %s, static_configs: [{targets: ['%s']}]}\n", name, p.Ready()["debug"])
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	free, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	address := free[0].String()
	p, err := process.Start(t.Context(), process.Spec{Command: []string{prometheus, "--config.file=" + file,
		"--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)

	// A rate needs two scrapes that brought something, and a call between them where a panel shows only what is called.
	chaind := "http://" + running["chaind"].Ready()["listen"]
	waiting := "Prometheus"
	servicetest.Await(t, func() string { return waiting + "\n" + p.LogTail(5) }, func() bool {
		if answer, err := http.Post(chaind, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`)); err == nil {
			answer.Body.Close()
		}
		for job := range running {
			waiting = job
			if n, err := ask(address, `min(sum_over_time(up{job="`+job+`"}[1m]))`); err != nil || len(n) == 0 || n[0] < 3 {
				return false
			}
		}
		return true
	})
	for _, service := range services {
		for _, panel := range panels(t, service) {
			for _, q := range panel.queries(service) {
				got, err := ask(address, strings.ReplaceAll(q.expr, "$__rate_interval", "1m"))
				if err != nil || len(got) == 0 && !panel.Empty {
					t.Errorf("%s: %s has no data: %v", q.where, q.expr, err)
				}
			}
		}
	}
	for _, file := range ruleFiles(t) {
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				if _, err := ask(address, r.Expr); err != nil {
					t.Errorf("%s: %v", r.Alert, err)
				}
			}
		}
	}
}

// ask returns the values of an instant query.
func ask(address, expr string) (values []float64, err error) {
	answer, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var said struct {
		Error string
		Data  struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Error != "" {
		return nil, fmt.Errorf("status %d: %s %w", answer.StatusCode, said.Error, err)
	}
	for _, r := range said.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
