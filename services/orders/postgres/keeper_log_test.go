package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The log keeps to its bound, and what is in it is what was written last, whole and in order.
func TestTheLogIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "log")
		var all strings.Builder
		for range rapid.IntRange(1, 3).Draw(rt, "starts") {
			l, err := openLog(path)
			if err != nil {
				rt.Fatal(err)
			}
			l.max = 100
			for _, line := range rapid.SliceOf(rapid.StringMatching(`[a-z]{0,60}\n`)).Draw(rt, "lines") {
				if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
					rt.Fatal(n, err)
				}
				all.WriteString(line)
			}
			l.Close()
		}
		var kept []byte
		for _, p := range []string{path + ".1", path} {
			text, _ := os.ReadFile(p)
			if len(text) > 100 {
				rt.Errorf("%s has %d bytes", p, len(text))
			}
			kept = append(kept, text...)
		}
		if !strings.HasSuffix(all.String(), string(kept)) || len(kept) < min(all.Len(), 40) {
			rt.Errorf("kept %q of %q", kept, all.String())
		}
	})
}

func TestTheLogsLastWords(t *testing.T) {
	l, err := openLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.lastWords(); got != "" {
		t.Errorf("%q of an empty log", got)
	}
	l.Write([]byte(strings.Repeat("noise\n", maxTail)))
	l.Write([]byte("FATAL: the reason\n"))
	if got := l.lastWords(); !strings.HasSuffix(got, "FATAL: the reason") || len(got) > maxTail+200 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
