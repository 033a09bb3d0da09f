package daemon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is a figure or a choice that a service can be started with (--set NAME=VALUE). Make one with
// Int, Bool, Duration, Bytes, OneOf or Text. As JSON it is what a search over settings needs.
type Setting struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`  // one line, with the unit
	Kind    string   `json:"kind"` // int, float, bool, duration, bytes, one-of, text
	Default string   `json:"default"`
	Min     string   `json:"min,omitempty"`
	Max     string   `json:"max,omitempty"`
	Values  []string `json:"values,omitempty"` // of one-of

	check func(value string) error
}

// Int declares a whole number between min and max.
func Int(name string, value, min, max int, doc string) Setting {
	return bounded(name, "int", doc, value, min, max, strconv.Atoi, strconv.Itoa)
}

// Duration declares a time such as 250ms between min and max.
func Duration(name string, value, min, max time.Duration, doc string) Setting {
	return bounded(name, "duration", doc, value, min, max, time.ParseDuration, formatDuration)
}

// Bytes declares a size such as 64MiB between min and max, in bytes.
func Bytes(name string, value, min, max int64, doc string) Setting {
	return bounded(name, "bytes", doc, value, min, max, parseBytes, formatBytes)
}

// Bool declares a switch.
func Bool(name string, value bool, doc string) Setting {
	s := Setting{Name: name, Doc: doc, Kind: "bool", Default: strconv.FormatBool(value)}
	s.check = func(value string) error {
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("setting %s: %q is neither true nor false", name, value)
		}
		return nil
	}
	return s
}

// OneOf declares a choice between words; the first is the default.
func OneOf(name string, values []string, doc string) Setting {
	s := Setting{Name: name, Doc: doc, Kind: "one-of", Values: values}
	if len(values) > 0 {
		s.Default = values[0]
	}
	s.check = func(value string) error {
		if !slices.Contains(values, value) {
			return unknown("value of setting "+name, value, values)
		}
		return nil
	}
	return s
}

// Text declares a free text that check accepts; a nil check accepts any.
func Text(name, value string, check func(string) error, doc string) Setting {
	s := Setting{Name: name, Doc: doc, Kind: "text", Default: value}
	s.check = func(value string) error {
		if check == nil {
			return nil
		}
		if err := check(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
		return nil
	}
	return s
}

func bounded[T cmp.Ordered](name, kind, doc string, value, min, max T, parse func(string) (T, error), format func(T) string) Setting {
	s := Setting{Name: name, Doc: doc, Kind: kind, Default: format(value), Min: format(min), Max: format(max)}
	s.check = func(value string) error {
		v, err := parse(value)
		if err != nil {
			return fmt.Errorf("setting %s: %q is no %s such as %s", name, value, kind, s.Default)
		}
		if v < min || v > max {
			return fmt.Errorf("setting %s: %s is not between %s and %s", name, value, s.Min, s.Max)
		}
		return nil
	}
	return s
}

// byteUnits in the order in which a size is written: the largest that divides it.
var byteUnits = []struct {
	suffix string
	bytes  int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// parseBytes reads 4096, 64KiB, 64MiB, 2GiB (powers of 1024, as GOMEMLIMIT has them).
func parseBytes(text string) (int64, error) {
	number, factor := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			number, factor = rest, u.bytes
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

func formatBytes(n int64) string {
	for _, u := range byteUnits {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration leaves out the zeros that String ends with: 5m, not 5m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
