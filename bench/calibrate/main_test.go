package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/bench/calibrate/accuracy"
	"dyno/bench/calibrate/calibration"
	"dyno/bench/command"
	"dyno/bench/stored"

	"github.com/spf13/pflag"
)

func TestCommandLine(t *testing.T) {
	empty, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	t.Chdir("../..")
	for args, want := range map[string]struct {
		usage bool
		text  string
	}{
		"--inside wrong":                             {true, `--inside takes agent, pprof and none, not "wrong"`},
		"--inside agent,":                            {true, `--inside takes agent, pprof and none, not ""`},
		"--repeats 0":                                {true, "--repeats takes 1 to 1000, not 0"},
		"--seed x":                                   {true, "invalid argument"},
		"--quick --thorough":                         {true, "exclude each other"},
		"--out OUT nosuch":                           {true, `no such server or family: "nosuch"; the servers are `},
		"--what-if --out OUT nosuch":                 {true, `no such server or family: "nosuch"`},
		"--what-if --out OUT scenarios/burn.yaml":    {true, "scenarios/burn.yaml has the mode compare; --what-if takes ladders"},
		"--what-if --out OUT scenarios/missing.yaml": {false, "missing.yaml"},
	} {
		var o bytes.Buffer
		err := run(t.Context(), strings.Fields(strings.ReplaceAll(args, "OUT", out)), &o)
		usage := errors.As(err, new(command.Usage))
		if err == nil || usage != want.usage || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v, want %q", args, err, want.text)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made for what was not measured")
	}
	if _, err := read(t.Context(), filepath.Join(empty, "absent")); err == nil {
		t.Error("a folder that is absent was read")
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &out); !errors.Is(err, pflag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"go run ./bench/calibrate --judge ", "--beside-burn"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// What --json prints is an object, also of no case.
func TestJSON(t *testing.T) {
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return accuracy.JSON(w, nil) },
		func(w io.Writer) error { return accuracy.WhatIfJSON(w, nil, stored.Made{}) },
		func(w io.Writer) error {
			return accuracy.WhatIfJSON(w, []calibration.Prediction{{Step: "pool-sql"}}, stored.Made{})
		},
	} {
		var b bytes.Buffer
		var o struct{ Schema string }
		if err := errors.Join(write(&b), json.Unmarshal(b.Bytes(), &o)); err != nil || !strings.HasPrefix(o.Schema, "dyno.") {
			t.Errorf("%s: %v", b.String(), err)
		}
	}
}
