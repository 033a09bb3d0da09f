package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLogIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l, err := openLog(file)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 10
	for _, part := range []string{"12345", "67890abc", "the end"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write returned %d, %v", n, err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	if want := "1234567890\n[the log ends here: only its first 10 bytes are kept]\n"; string(got) != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	if got := l.lastLines(1); got != "1234567890abcthe end" {
		t.Errorf("the tail is %q", got)
	}
}

func TestFullDiskIsSaidAtTheEnd(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	l := &log{file: f, limit: maxLog}
	if _, err := l.Write([]byte("text")); err != nil {
		t.Errorf("Write failed (%v) and would have stopped the process", err)
	}
	if err := l.close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("close returned %v", err)
	}
}

// The tail is the end of all that was written, however it was cut into writes.
func TestTailIsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &log{limit: maxLog}
		var all bytes.Buffer
		for range rapid.IntRange(0, 40).Draw(t, "writes") {
			part := bytes.Repeat([]byte(rapid.StringMatching(`[a-z\n]{1,7}`).Draw(t, "text")), rapid.IntRange(0, maxTail/2).Draw(t, "times"))
			all.Write(part)
			l.Write(part)
		}
		n := rapid.IntRange(0, 5).Draw(t, "lines")
		got := l.lastLines(n)
		if !bytes.HasSuffix(bytes.TrimRight(all.Bytes(), "\n"), []byte(got)) {
			t.Fatalf("the tail %.40q... is not the end of what was written", got)
		}
		if lines := strings.Count(got, "\n") + 1; got != "" && lines > n {
			t.Fatalf("%d lines, want at most %d", lines, n)
		}
		if len(l.tail) > 2*maxTail {
			t.Fatalf("%d bytes are kept", len(l.tail))
		}
	})
}

func TestLastLines(t *testing.T) {
	l := &log{limit: maxLog}
	l.Write([]byte("one\ntwo\nthree\n"))
	for n, want := range map[int]string{-1: "", 0: "", 1: "three", 2: "two\nthree", 9: "one\ntwo\nthree"} {
		if got := l.lastLines(n); got != want {
			t.Errorf("lastLines(%d) = %q, want %q", n, got, want)
		}
	}
}
