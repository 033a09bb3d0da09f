package backup

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var quiet = slog.New(slog.DiscardHandler)

// ask asks for a backup, and returns the status and what came.
func ask(t *testing.T, web *httptest.Server) (int, string, error) {
	t.Helper()
	answer, err := web.Client().Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func TestHandler(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("what is in it"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := 0
	var inside func() // while one is under way
	web := httptest.NewServer(Handler("notifyd", func() (*Snapshot, error) {
		taken++
		inside()
		return Open(dir, "file")
	}, quiet))
	defer web.Close()

	inside = func() {
		if status, text, _ := ask(t, web); status != http.StatusConflict || !strings.Contains(text, "under way") {
			t.Errorf("a second one at the same time: %d %s", status, text)
		}
	}
	status, text, err := ask(t, web)
	if err != nil || status != http.StatusOK || taken != 1 {
		t.Fatalf("%d, %v, %d taken", status, err, taken)
	}
	if got, err := os.ReadFile(filepath.Join(unpack(t, strings.NewReader(text)), "file")); err != nil || string(got) != "what is in it" {
		t.Errorf("%q, %v", got, err)
	}

	inside = func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if status, text, err := ask(t, web); err != nil || status != http.StatusInternalServerError || !strings.Contains(text, `"error":"taking a snapshot`) {
		t.Errorf("of a file that is gone: %d %s, %v", status, text, err)
	}
}

// A backup that breaks off is not taken for one that is whole.
func TestBrokenOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("what is in it"), 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(Handler("notifyd", func() (*Snapshot, error) {
		s, err := Open(filepath.Dir(path), "file")
		if err == nil {
			s.files[0].File.Close() // the disk fails
		}
		return s, err
	}, quiet))
	defer web.Close()
	answer, err := web.Client().Get(web.URL)
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("the client hears of %v", err)
	}
}
