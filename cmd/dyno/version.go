package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"dyno/lab/probe/host"

	"github.com/spf13/cobra"
)

// binary describes this program.
type binary struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"` // built from a tree with uncommitted changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func this() binary {
	v := binary{Schema: "dyno.version/1", Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	v.Commit, v.Dirty = host.Revision(info)
	return v
}

// agentsVersion returns the version that a coordinator and its agents must have in common.
func agentsVersion() string {
	v := this()
	out := v.Version
	if v.Commit != "" {
		out += " " + v.Commit[:min(len(v.Commit), 12)]
	}
	if v.Dirty {
		out += " with changes"
	}
	return out
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := this()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			text := "dyno " + v.Version
			if v.Commit != "" { // a program installed by version does not know its commit
				text += " " + v.Commit
			}
			if v.Dirty {
				text += " with changes"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s/%s\n", text, v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
