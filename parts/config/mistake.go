package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/spf13/pflag"
)

// FlagError describes a wrong value of a flag in a user's words; other errors stay as they are.
func FlagError(err error) error {
	invalid := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	flag, kind := invalid.GetFlag(), ""
	switch flag.Value.Type() {
	case "uint", "uint8", "uint16", "uint32", "uint64":
		kind = "no whole number of 0 or more"
	case "int", "int8", "int16", "int32", "int64":
		kind = "no whole number"
	case "float32", "float64":
		kind = "no number"
	case "bool":
		kind = "neither true nor false"
	case "duration":
		kind = "no time such as 1m30s"
	}
	switch {
	case errors.Is(invalid, strconv.ErrRange):
		kind = "out of range"
	case isLevel(flag.Value):
		kind = "none of debug, info, warn and error"
	case kind == "":
		return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return fmt.Errorf("--%s %q is %s", flag.Name, invalid.GetValue(), kind)
}

// isLevel reports whether a flag is a log level.
func isLevel(v pflag.Value) bool {
	text, ok := v.(interface{ Get() any })
	if ok {
		_, ok = text.Get().(*slog.Level)
	}
	return ok
}
