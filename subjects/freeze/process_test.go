package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this binary run as the subject, too, so that tests can start it as a process.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"freeze": main}) }

func TestProcessEndsWellOnSIGTERM(t *testing.T) {
	cmd := exec.Command("freeze", "--every=1s", "--freeze=100ms")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Ready  bool  `json:"ready"`
		Freeze int64 `json:"freeze_ns"`
		Every  int64 `json:"every_ns"`
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready || ready.Freeze != 1e8 || ready.Every != 1e9 {
		t.Errorf("ready line %s: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestProcessRefusesWrongFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--freeze=2s", "--every=2s"}, "freeze: --freeze is 2s and --every 2s; a freeze must be shorter"},
		{[]string{"--freze=1s"}, "not defined: -freze"},
		{[]string{"now"}, `it takes no arguments, not even "now"`},
	} {
		out, err := exec.Command("freeze", c.args...).CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("%v: %v, %s", c.args, err, out)
		}
	}
}
