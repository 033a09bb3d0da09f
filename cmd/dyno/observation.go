package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/observe"
	"dyno/lab/report/format"
	"dyno/lab/report/text"
)

// observationText shows how busy a process was, as text of at most width columns; 0: unlimited.
func observationText(r *observe.Report, width int) string {
	var b strings.Builder
	line := func(indent int, s string) {
		room := width
		if width > 0 {
			room = max(width-indent, 20)
		}
		for i, part := range text.Wrapped(s, room) {
			if i > 0 {
				fmt.Fprintf(&b, "%*s", indent+2, "")
			}
			fmt.Fprintln(&b, strings.TrimRight(part, " "))
		}
	}
	line(0, r.Summary)
	fmt.Fprintf(&b, "\n%6s  %-16s  what\n", "busy", "range")
	for _, o := range r.Resources {
		busy, interval := "?", o.Range()
		if o.Busy != nil {
			busy = observe.Percent(*o.Busy)
		}
		fmt.Fprintf(&b, "%6s  %-16s  ", busy, interval)
		line(26, resource(o))
	}
	fmt.Fprintln(&b)
	fact := func(name, s string) {
		fmt.Fprintf(&b, "%-10s ", name)
		line(11, s)
	}
	fact("requests", requests(r.Rate))
	m := r.Memory
	fact("GC", known(figure("%s of the CPU time that the process uses", r.GC, observe.Percent), figure("%s cycles/s", m.Cycles, observe.Number)))
	fact("ready", known(figure("%s goroutines wait for a processor, on average", r.Ready, observe.Number), figure("%s us at most after a wait, on average", r.ReadyMicros, observe.Number)))
	fact("memory", known(figure("heap %s", m.Heap, inBytes), figure("%s from the system", m.System, inBytes), figure("%s/s allocated", m.Allocated, inBytes),
		figure("%s goroutines", m.Live, func(v float64) string { return fmt.Sprintf("%.0f", v) })))
	fact("looking", cost(r.Cost))
	fmt.Fprintln(&b, "not seen")
	for _, s := range r.NotSeen {
		b.WriteString("  - ")
		line(4, s)
	}
	return b.String()
}

func known(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(parts, "; "), "not known")
}

// figure formats a figure; empty: it is not known.
func figure(text string, v *float64, as func(float64) string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(text, as(*v))
}

func inBytes(v float64) string { return format.Size(format.Value(v)) }

// resource describes a row of the table.
func resource(o observe.Resource) string {
	s := o.What()
	if o.Waiting > 0 {
		s += ": " + observe.Number(o.Waiting) + " goroutines wait"
		if o.Waits > 0 {
			s += ", " + observe.Number(o.Waits) + " waits/s"
		}
	}
	if o.InUse > 0 {
		s += "; at least " + observe.Number(o.InUse) + " in use on average"
	}
	if o.Detail != "" && o.Kind != observe.KindWait {
		s += "; " + o.Detail
	}
	return s
}

func requests(r *observe.Rate) string {
	if r == nil {
		return "rate not known: no counter of requests grew (--metrics), the traces show none, and there is no --rate; so no figures per request"
	}
	s := fmt.Sprintf("%s/s (%s)", observe.Number(r.PerS), r.Source)
	if r.CPUMicros != nil {
		s += "; " + observe.Number(*r.CPUMicros) + " us of CPU"
	}
	if r.Allocated != nil {
		s += "; " + inBytes(*r.Allocated) + " allocated"
	}
	if r.CPUMicros != nil || r.Allocated != nil {
		s += " per request"
	}
	return s
}

func cost(c observe.Cost) string {
	s := fmt.Sprintf("%.1f s of profiles and traces, %s fetched; what that cost the process is ", c.Looking, inBytes(float64(c.Fetched)))
	if c.Cores == nil {
		return s + c.How
	}
	if c.Range[0] <= 0 {
		return s + fmt.Sprintf("less than this can measure: at most %s cores meanwhile (%s)", observe.Number(c.Range[1]), c.How)
	}
	s += fmt.Sprintf("%s cores meanwhile (%s to %s)", observe.Number(*c.Cores), observe.Number(c.Range[0]), observe.Number(c.Range[1]))
	if c.Share != nil {
		s += ", " + observe.Percent(*c.Share) + " of its limit over all of the time"
	}
	return s + " (" + c.How + ")"
}
