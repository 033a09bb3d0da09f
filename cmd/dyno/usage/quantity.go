package usage

import (
	"strconv"
	"time"

	"dyno/lab/record/quantity"

	"github.com/spf13/pflag"
)

// Duration adds a flag whose value is a duration in the form of package quantity.
func Duration(f *pflag.FlagSet, into *time.Duration, name, short string, def time.Duration, usage string) {
	*into = def
	f.VarP((*duration)(into), name, short, usage)
}

type duration time.Duration

func (d *duration) Type() string { return "duration" }

func (d *duration) String() string {
	if *d == 0 {
		return "0" // pflag's help then shows no default
	}
	return time.Duration(*d).String()
}

func (d *duration) Set(text string) error {
	v, err := quantity.Bounded(text)
	*d = duration(v)
	return err
}

// Rate adds a flag whose value is a rate per second in the form of package quantity.
func Rate(f *pflag.FlagSet, into *float64, name, short string, usage string) {
	f.VarP((*rate)(into), name, short, usage)
}

type rate float64

func (r *rate) Type() string   { return "rate" }
func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }

func (r *rate) Set(text string) error {
	v, err := quantity.Rate(text)
	*r = rate(v)
	return err
}
