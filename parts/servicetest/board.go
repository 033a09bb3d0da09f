package servicetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/parts/debugpage"
)

// Board checks a page of figures (parts/debugpage) at a path of a service's debug address: that
// each metric that it shows is one that the service has, but for those that are missing in this
// process, and that the service keeps each of its charts.
func Board(t *testing.T, debug, path string, missing ...string) {
	t.Helper()
	get := func(path string) []byte {
		resp, text, err := Exchange(http.DefaultClient, "GET", debug+path, "", nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, resp, err)
		}
		return text
	}
	var board debugpage.Board
	_, text, _ := bytes.Cut(get(path), []byte("const board = "))
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&board); err != nil {
		t.Fatalf("%s has no board: %v", path, err)
	}
	metrics := get("/metrics")
	for _, name := range board.Metrics() {
		has := regexp.MustCompile(`(?m)^` + name + `(_bucket)?[{ ]`).Match(metrics)
		if lacking := slices.ContainsFunc(missing, func(prefix string) bool { return strings.HasPrefix(name, prefix) }); has == lacking {
			t.Errorf("metric %s: shown by %s, exposed: %v", name, path, has)
		}
	}
	var kept struct{ Figures [][]*float64 }
	if err := json.Unmarshal(get(path+"recent"), &kept); err != nil || len(kept.Figures) != len(board.Figures) {
		t.Errorf("%srecent: %d figures of %d (%v)", path, len(kept.Figures), len(board.Figures), err)
	}
	for i, points := range kept.Figures {
		if len(points) == 0 {
			t.Errorf("%srecent has no points of %s", path, board.Figures[i].Title)
		}
	}
}
