package config

import (
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestFlagError(t *testing.T) {
	for arg, want := range map[string]string{
		"--level=loud":    `--level "loud" is none of debug, info, warn and error`,
		"--wait=soon":     `--wait "soon" is no time such as 1m30s`,
		"--n=x":           `--n "x" is no whole number`,
		"--n=99999999999": `--n "99999999999" is out of range`,
		"--set=x":         `--set "x": it takes NAME=VALUE`,
		"--other":         "unknown flag: --other",
	} {
		f := pflag.NewFlagSet("toyd", pflag.ContinueOnError)
		f.TextVar(new(slog.Level), "level", slog.LevelInfo, "")
		f.DurationVar(new(time.Duration), "wait", 0, "")
		f.Int32Var(new(int32), "n", 0, "")
		f.Var(&Pairs{}, "set", "")
		if err := FlagError(f.Parse([]string{arg})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}
