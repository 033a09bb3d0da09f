package daemon

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"dyno/parts/refusal"
)

// unknown is a usage error for a name that does not exist.
func unknown(kind, name string, exist []string) error {
	if len(exist) == 0 {
		return usageError{fmt.Errorf("unknown %s %q; this service has none", kind, name)}
	}
	return usageError{refusal.Unknown(kind, name, exist...)}
}

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
	case flag.Name == levelFlag:
		kind = "none of debug, info, warn and error"
	case kind == "":
		return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return fmt.Errorf("--%s %q is %s", flag.Name, invalid.GetValue(), kind)
}
