package changes

import (
	"fmt"
	"math"
	"strconv"
)

// Lines states the changes, one line per function that changed; for a resource without one, a line
// says so.
func (c *Changes) Lines() (out []string) {
	for _, r := range c.Resources {
		if r.Unseen != "" {
			out = append(out, r.Name+" by function: not seen: "+r.Unseen)
			continue
		}
		if len(r.Functions) == 0 {
			out = append(out, fmt.Sprintf("%s by function: no change is larger than chance explains (%d and %d samples)", r.Name, r.Samples[0], r.Samples[1]))
			continue
		}
		for _, f := range r.Functions {
			out = append(out, r.Name+" per request: "+f.String()+" "+r.Unit+r.share(f))
		}
	}
	return out
}

// share states a function's part of the change of the whole cost; empty: the whole did not change,
// or the other way.
func (r *Resource) share(f Function) string {
	whole := r.After - r.Before
	decided := r.Ratio[0] > 1 || r.Ratio[1] > 0 && r.Ratio[1] < 1
	if !decided || whole == 0 || (f.After-f.Before)/whole <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f%% of the change)", 100*(f.After-f.Before)/whole)
}

// String states the change of a function, without its unit.
func (f Function) String() string {
	text := f.Name
	if f.Where != "" {
		text += " (" + f.Where + ")"
	}
	if f.Callee != "" {
		text += ", most of it in " + f.Callee
	}
	change := f.After - f.Before
	return fmt.Sprintf("%s: %s to %s, %s [%s, %s]", text, digits(f.Before), digits(f.After), signed(change), signed(f.Change[0]), signed(f.Change[1]))
}

func signed(v float64) string {
	if v >= 0 {
		return "+" + digits(v)
	}
	return "-" + digits(-v)
}

// digits formats a value to three digits.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}
