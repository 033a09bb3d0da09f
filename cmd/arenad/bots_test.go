package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/services/arena/arenatest"
)

// Bots that cannot join are an error, after the figures.
func TestBotsWithoutServer(t *testing.T) {
	out, err := exec.Command("arenad", "bots", "-n=1", "--url=http://127.0.0.1:1", "--duration=1s", "--warmup=100ms", "--json").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || len(out) == 0 || !strings.Contains(string(exit.Stderr), errNone.Error()) {
		t.Errorf("%v, %s", err, out)
	}
}

// Bots play, and what they see is whole.
func TestBots(t *testing.T) {
	program := starter(t, assembly.Variant{Assembly: assembly.Tuned})(t)
	t.Cleanup(program.Stop)
	for _, args := range [][]string{{"--motion=random"}, {"--subprotocol=arena.v1.proto"}, {"--rate=20"}} {
		args = append([]string{"bots", "-n=12", "--url=" + program.URL, "--duration=1s", "--warmup=100ms", "--decode", "--json"}, args...)
		out, err := exec.Command("arenad", args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		var got struct {
			Schema    string
			Completed int
			Errors    map[string]int
			Sessions  struct {
				Opened, Lost int
				Frames       float64 `json:"frames_per_s_min"`
			}
		}
		arenatest.Decode(t, out, &got)
		for kind, n := range got.Errors {
			if n > 0 && kind != "timeout" {
				t.Errorf("%v: %d errors: %s", args, n, kind)
			}
		}
		if got.Schema != "dyno.load/1" || got.Completed == 0 || got.Sessions.Opened != 12 || got.Sessions.Lost != 0 || got.Sessions.Frames == 0 {
			t.Errorf("%v: %s", args, out)
		}
	}
}
