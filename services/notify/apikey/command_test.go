package apikey

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := Command()
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // as under the daemon's command
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

// What the command prints opens the door: the line in the file, the key in the request.
func TestCommand(t *testing.T) {
	lines, shown, err := run(t, "shop")
	if err != nil {
		t.Fatal(err)
	}
	more, shownLater, err := run(t, "billing")
	if err != nil {
		t.Fatal(err)
	}
	k, _, _ := opened(t, lines+more)
	for _, text := range []string{shown, shownLater} {
		key, _, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(key, "notifyd_") || len(key) < len("notifyd_")+26 {
			t.Errorf("the key %q is short", key)
		}
		if got := ask(k, "Bearer "+key).Code; got != 204 {
			t.Errorf("the key %q: %d", key, got)
		}
		if strings.Contains(lines+more, key) {
			t.Error("the key goes into the file")
		}
	}
	if shown == shownLater {
		t.Error("the same key twice")
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"no spaces"}, {""}} {
		if out, shown, err := run(t, args...); err == nil || out+shown != "" {
			t.Errorf("%q: %v, printed %q %q", args, err, out, shown)
		}
	}
}

// A key whose line is lost is not shown.
func TestCommandWithoutStdout(t *testing.T) {
	cmd := Command()
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
