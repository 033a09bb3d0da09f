package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// schema is the schema of the output of "assemblies --json" of a service.
const schema = "dyno.assemblies/1"

// Declared has the settings and seams that a service declares.
type Declared struct {
	Settings []Knob
	Seams    []Seam
}

// Knob is a declared setting.
type Knob struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"` // int, bool, duration, bytes, one-of, text
	Min    string   `json:"min"`
	Max    string   `json:"max"`
	Values []string `json:"values"` // of one-of
	// Tune marks a setting that changes the speed and the memory only: no promise and no limit that
	// callers see. Others are tried only by name.
	Tune bool `json:"tune"`
}

// Seam is an interface in the service with several implementations to choose from.
type Seam struct {
	Name  string `json:"name"`
	Impls []struct {
		Name string `json:"name"`
	} `json:"implementations"`
}

// ParseDeclared parses the output of "assemblies --json" of a service.
func ParseDeclared(text []byte) (Declared, error) {
	var in struct {
		Schema   string `json:"schema"`
		Settings []Knob `json:"settings"`
		Seams    []Seam `json:"seams"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return Declared{}, fmt.Errorf("reading its settings: %w", err)
	}
	if in.Schema != schema {
		return Declared{}, fmt.Errorf("its settings have the schema %.40q; %q is known", in.Schema, schema)
	}
	return Declared{Settings: in.Settings, Seams: in.Seams}, nil
}

// ParseResolved parses the assembly that a running service reports, and returns the values of its
// settings and seams by name.
func ParseResolved(assembly []byte) (map[string]string, error) {
	var in struct {
		Seams    map[string]string `json:"seams"`
		Settings map[string]string `json:"settings"`
	}
	if err := json.Unmarshal(assembly, &in); err != nil {
		return nil, fmt.Errorf("reading its assembly: %w", err)
	}
	out := map[string]string{}
	for _, values := range []map[string]string{in.Seams, in.Settings} {
		for name, value := range values {
			out[name] = value
		}
	}
	return out, nil
}

// factors are the factors from the present value to the values to try, by tier.
var factors = [][]float64{{2, 0.5}, {4, 0.25}}

// fromZero are the values to try, by tier, for a number that is 0, which lets the program choose.
var fromZero = [][]float64{{1, 2}, {4, 8}}

// around returns values to try instead of the present one, by tier. The first tier is closest to
// the present value.
func (k Knob) around(now string) (tiers [][]string) {
	switch k.Kind {
	case "bool":
		on, err := strconv.ParseBool(now)
		if err != nil {
			return nil
		}
		return [][]string{{strconv.FormatBool(!on)}}
	case "one-of":
		var others []string
		for _, v := range k.Values {
			if v != now {
				others = append(others, v)
			}
		}
		return [][]string{others}
	}
	n, err1 := k.parse(now)
	low, err2 := k.parse(k.Min)
	high, err3 := k.parse(k.Max)
	if errors.Join(err1, err2, err3) != nil || n == 0 && k.Kind != "int" {
		return nil
	}
	steps, unit := factors, n
	if n == 0 {
		steps, unit = fromZero, 1
	}
	seen := map[float64]bool{n: true}
	for _, tier := range steps {
		var values []string
		for _, f := range tier {
			v := min(high, max(low, math.Round(unit*f)))
			if !seen[v] && v != 0 { // 0 often has a special meaning
				seen[v] = true
				values = append(values, k.format(v))
			}
		}
		tiers = append(tiers, values)
	}
	return tiers
}

var units = []string{"", "KiB", "MiB", "GiB", "TiB"}

func (k Knob) parse(text string) (float64, error) {
	switch k.Kind {
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		return float64(n), err
	case "duration":
		d, err := time.ParseDuration(text)
		return float64(d), err
	case "bytes":
		number, factor := text, 1.0
		for i, unit := range units[1:] {
			if rest, ok := strings.CutSuffix(text, unit); ok {
				number, factor = rest, math.Pow(1024, float64(i+1))
			}
		}
		n, err := strconv.ParseInt(number, 10, 64)
		return float64(n) * factor, err
	}
	return 0, fmt.Errorf("%s has no order", k.Kind)
}

func (k Knob) format(v float64) string {
	switch k.Kind {
	case "duration":
		return time.Duration(v).String()
	case "bytes":
		return Bytes(int64(v))
	}
	return strconv.FormatInt(int64(v), 10)
}

// Bytes formats a size, without rounding, in the form that GOMEMLIMIT has.
func Bytes(n int64) string {
	unit := 0
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + units[unit]
}
