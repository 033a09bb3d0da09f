package assembly

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is a figure or a choice that a service can be started with (--set NAME=VALUE). Settings
// declares them. As JSON it is what a search over settings needs.
type Setting struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`  // one line, with the unit
	Kind    string   `json:"kind"` // int, bool, duration, bytes, one-of, text
	Default string   `json:"default"`
	Min     string   `json:"min,omitempty"`
	Max     string   `json:"max,omitempty"`
	Values  []string `json:"values,omitempty"` // of one-of
	// Tune marks a setting that changes the speed and the memory only: no promise and no limit that
	// callers see. A search over settings tries no other without being asked.
	Tune bool `json:"tune,omitempty"`
}

// numbers reads the kinds that are whole numbers of a unit.
var numbers = map[string]func(string) (int64, error){
	"int":      func(text string) (int64, error) { return strconv.ParseInt(text, 10, strconv.IntSize) },
	"duration": func(text string) (int64, error) { d, err := time.ParseDuration(text); return int64(d), err },
	"bytes":    parseBytes,
}

// check reports whether the setting can have a value.
func (s Setting) check(value string) error {
	switch parse := numbers[s.Kind]; {
	case parse != nil:
		low, err1 := parse(s.Min)
		high, err2 := parse(s.Max)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("setting %s: its bounds: %w", s.Name, err)
		}
		if v, err := parse(value); err != nil {
			return fmt.Errorf("setting %s: %q is no %s such as %s", s.Name, value, s.Kind, s.Default)
		} else if v < low || v > high {
			return fmt.Errorf("setting %s: %s is not between %s and %s", s.Name, value, s.Min, s.Max)
		}
	case s.Kind == "bool":
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("setting %s: %q is neither true nor false", s.Name, value)
		}
	case s.Kind == "one-of" && !slices.Contains(s.Values, value):
		return unknown("value of setting "+s.Name, value, s.Values)
	case s.Kind == "":
		return fmt.Errorf("setting %s has no kind", s.Name)
	}
	return nil
}

// parseBytes reads 4096, 64KiB, 64MiB, 2GiB (powers of 1024, as GOMEMLIMIT has them).
func parseBytes(text string) (int64, error) {
	number, factor := text, int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			number, factor = rest, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, strconv.ErrRange
	}
	return n * factor, nil
}
