package live

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// rounds adds blocks of slices to an experiment by turns.
func rounds(m *livetest.Made, n int) *livetest.Made {
	for block := 1; block <= n; block++ {
		for _, v := range m.Exp.Variants {
			m.Slice(record.SliceWork, v.Name, block)
			m.Slice(record.SliceSLO, v.Name, block)
		}
	}
	return m
}

// TestSearch: the experiments of dyno tune or dyno bisect are shown together, with the one in
// progress and the ratios of those that have ended, until the search has a result.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	in := func(name string, started time.Time) *livetest.Made {
		m := livetest.New(t, filepath.Join(dir, "shop-tune", name), record.KindCompare, started, "plain", livetest.Hostile)
		m.Exp.Command = []string{"dyno", "tune", "shop.yaml"}
		if folder.Save(m.Exp); m.Exp.Unwritten != nil {
			t.Fatal(m.Exp.Unwritten)
		}
		return m
	}
	rounds(in("search-1", time.Unix(1.7e9, 0)), 20).Finish()
	second := rounds(in("search-2", time.Unix(1.7e9+60, 0)), 3)
	s := New(Options{Dir: dir})
	expect := func(when, path string, lacks string, holds ...string) {
		t.Helper()
		w := get(t, s, path)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", when, w.Code, body)
		}
		for _, text := range holds {
			if !strings.Contains(body, text) {
				t.Errorf("%s: %s lacks %q in\n%s", when, path, text, body)
			}
		}
		if lacks != "" && strings.Contains(body, lacks) || strings.Contains(body, "<img") {
			t.Errorf("%s: %s has %q, or a name is markup", when, path, lacks)
		}
	}
	const step, next = `href="/run/shop-tune%2Fsearch-1/"`, `data-of="/run/shop-tune%2Fsearch-2/"`
	expect("while it runs", "/", "", `href="/run/shop-tune/"`, "2 experiments", "going on", "<span>tune</span>")
	expect("while it runs", "/run/shop-tune/", "", step, next, `class="strip"`, `id="turn-panels"`, "live.js")
	expect("while it runs", "/run/shop-tune%2Fsearch-2/", "", next)
	expect("an experiment of it", "/run/shop-tune%2Fsearch-1/", "", `class="banner`)
	second.Finish()
	expect("between two", "/run/shop-tune/", "data-of", "going on", "between two experiments", "live.js")
	if err := os.WriteFile(filepath.Join(dir, "shop-tune", "tune.json"), []byte(`{"answer":"Keep plain as it is <img>"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("when it has ended", "/run/shop-tune/", "live.js", "Keep plain as it is &lt;img&gt;", step)
	expect("when it has ended", "/", "going on", "Keep plain as it is")
	for _, path := range []string{"/run/shop-tune%2F..%2Fx/", "/run/shop-tune%2F/", "/run/shop-tune%2Fsearch-1%2Fruns/", "/run/shop-tune%2Fabsent/"} {
		if w := get(t, s, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, link := range []string{filepath.Join(dir, "other"), filepath.Join(dir, "shop-tune", "linked")} {
		if err := os.Symlink(filepath.Join(dir, "shop-tune", "search-1"), link); err != nil {
			t.Fatal(err)
		}
	}
	if w := get(t, s, "/run/shop-tune%2Flinked/"); w.Code != http.StatusNotFound {
		t.Errorf("a link is followed: %d", w.Code)
	}
}

// TestSearchState: what goes on counts before what is broken off, and a result before both is the
// end.
func TestSearchState(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	for name, tt := range map[string]struct {
		answer  string
		changed time.Time
		of      []State
		want    State
	}{
		"one goes on after a broken one":  {"", old, []State{Broken, Going}, Going},
		"a result after a broken one":     {"found", old, []State{Ended, Broken, Ended}, Ended},
		"a result just now":               {"found", time.Now(), []State{Ended}, Ended},
		"between two, one broken earlier": {"", time.Now(), []State{Broken, Ended}, Going},
		"the last is broken off":          {"", old, []State{Ended, Broken}, Broken},
		"no result, and nothing goes on":  {"", old, []State{Ended, Ended}, Ended},
	} {
		if got := searchState(tt.answer, tt.changed, tt.of...); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestFoldersThatAreNoSearch: a folder of experiments that were measured for something else is not
// shown, nor one with more in it than a search has.
func TestFoldersThatAreNoSearch(t *testing.T) {
	dir := t.TempDir()
	in := func(of, name, command string) {
		m := livetest.New(t, filepath.Join(dir, of, name), record.KindCompare, time.Unix(1.7e9, 0), "plain", "tuned")
		m.Exp.Command = []string{"dyno", command, "shop.yaml"}
		if folder.Save(m.Exp); m.Exp.Unwritten != nil {
			t.Fatal(m.Exp.Unwritten)
		}
	}
	for i := range maxSteps + 1 {
		if err := os.MkdirAll(filepath.Join(dir, "full", fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
		if i <= maxOthers {
			os.MkdirAll(filepath.Join(dir, "others", fmt.Sprint(i)), 0o755)
		}
	}
	in("bisected", "01", "bisect")
	in("verdicts", "a", "diagnose")
	in("full", "01", "bisect")
	in("others", "search-1", "tune")
	in("answered", "a", "compare")
	if err := os.WriteFile(filepath.Join(dir, "answered", "bisect.json"), []byte(`{"answer":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"bisected": true, "verdicts": false, "full": false, "others": false, "answered": true} {
		s := New(Options{Dir: dir})
		if w := get(t, s, "/run/"+name+"/"); (w.Code == http.StatusOK) != want {
			t.Errorf("%s: %d", name, w.Code)
		}
		if list := get(t, s, "/").Body.String(); strings.Contains(list, `href="/run/`+name+`/"`) != want {
			t.Errorf("%s is in the list: %v", name, !want)
		}
	}
}
