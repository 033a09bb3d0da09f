// Package claims holds what the commands that check published formulas share: each reads the record
// of one experiment and prints a table.
//
// It is not for measuring, nor for the formulas. It starts no goroutines.
package claims

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report"
)

// Main is the main function of the command of that name: show prints what it makes of the
// experiment in the folder that the only argument names, after the flags that the command has
// defined. recorded is an example of such a folder.
func Main(name, recorded string, show func(io.Writer, *record.Experiment) error) {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "%s: name the folder of a sweep, as in: go run ./bench/claims/%[1]s %s\n", name, recorded)
		os.Exit(2)
	}
	exp, err := folder.Open(flag.Arg(0))
	if err == nil {
		err = show(os.Stdout, exp)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Write writes what was made of an experiment as docs/results has it.
func Write(w io.Writer, kind string, e *record.Experiment, steps any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Schema string      `json:"schema"`
		Kind   string      `json:"kind"`
		Name   string      `json:"name"`
		Made   report.Made `json:"made"`
		Steps  any         `json:"steps"`
	}{"dyno." + kind + "/1", kind, e.Name, report.Build(e).Made, steps})
}
