package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/notify/apikey"
)

func runApikey(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := apikeyCommand()
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // as under the daemon's command
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

// What the command prints opens the door: the line in the file, the key in the request.
func TestApikey(t *testing.T) {
	lines, shown, err := runApikey(t, "shop")
	if err != nil {
		t.Fatal(err)
	}
	more, shownLater, err := runApikey(t, "billing")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys.txt")
	if err := os.WriteFile(file, []byte(lines+more), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := apikey.Open(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{shown, shownLater} {
		key, _, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(key, "notifyd_") || len(key) < len("notifyd_")+26 {
			t.Errorf("the key %q is short", key)
		}
		if !k.Allows("Bearer " + key) {
			t.Errorf("the key %q is refused", key)
		}
		if strings.Contains(lines+more, key) {
			t.Error("the key goes into the file")
		}
	}
	if shown == shownLater {
		t.Error("the same key twice")
	}
}

func TestApikeyRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"no spaces"}, {""}} {
		if out, shown, err := runApikey(t, args...); err == nil || out+shown != "" {
			t.Errorf("%q: %v, printed %q %q", args, err, out, shown)
		}
	}
}

// A key whose line is lost is not shown.
func TestApikeyWithoutStdout(t *testing.T) {
	cmd := apikeyCommand()
	var shown bytes.Buffer
	cmd.SetOut(broken{})
	cmd.SetErr(&shown)
	cmd.SetArgs([]string{"shop"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); !errors.Is(err, errBroken) || shown.Len() > 0 {
		t.Errorf("%v, shown %q", err, shown.String())
	}
}

var errBroken = errors.New("no space left")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
