package debugpage

import (
	"cmp"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// reading is what a figure is calculated from, summed over the series with the figure's labels.
type reading struct {
	value   float64  // of the metric, or the sum of a histogram or summary; NaN: there is none
	of      float64  // what a share or a mean divides by
	buckets []bucket // of a histogram, by their ends; the counts include those of the buckets before
}

type bucket struct{ end, count float64 }

func byName(families []*dto.MetricFamily) map[string]*dto.MetricFamily {
	all := make(map[string]*dto.MetricFamily, len(families))
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// read takes a figure's reading. Its labels hold for the divisor of a share, too.
func read(f Figure, all map[string]*dto.MetricFamily) reading {
	switch f.Kind {
	case Share:
		r := reading{value: sum(f.Metric, f.Labels, all), of: sum(f.Of, f.Labels, all)}
		if math.IsNaN(r.value) && !math.IsNaN(r.of) {
			r.value = 0 // it has not happened yet
		}
		return r
	case Mean:
		return reading{value: sum(f.Metric+"_sum", f.Labels, all), of: sum(f.Metric+"_count", f.Labels, all)}
	case P50, P99:
		return reading{buckets: bucketsOf(f.Metric, f.Labels, all)}
	}
	return reading{value: sum(f.Metric, f.Labels, all)}
}

// sum returns the sum of the series of a name, which may be the count or the sum of a histogram or
// summary; NaN: there is none.
func sum(name string, wanted map[string]string, all map[string]*dto.MetricFamily) float64 {
	family, part := all[name], ""
	for _, suffix := range []string{"_count", "_sum"} {
		if whole, ok := strings.CutSuffix(name, suffix); ok && family == nil {
			family, part = all[whole], suffix
		}
	}
	total := math.NaN()
	for _, m := range family.GetMetric() {
		if !has(m, wanted) {
			continue
		}
		if math.IsNaN(total) {
			total = 0
		}
		switch part {
		case "_count":
			total += float64(max(m.GetHistogram().GetSampleCount(), m.GetSummary().GetSampleCount()))
		case "_sum":
			total += m.GetHistogram().GetSampleSum() + m.GetSummary().GetSampleSum()
		default:
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return total
}

// has reports whether a series has the labels.
func has(m *dto.Metric, wanted map[string]string) bool {
	for name, value := range wanted {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value }) {
			return false
		}
	}
	return true
}

// bucketsOf returns the buckets of a histogram's series together.
func bucketsOf(name string, wanted map[string]string, all map[string]*dto.MetricFamily) (out []bucket) {
	add := func(end float64, count uint64) {
		i, found := slices.BinarySearchFunc(out, end, func(b bucket, end float64) int { return cmp.Compare(b.end, end) })
		if !found {
			out = slices.Insert(out, i, bucket{end: end})
		}
		out[i].count += float64(count)
	}
	for _, m := range all[name].GetMetric() {
		if h := m.GetHistogram(); h != nil && has(m, wanted) {
			for _, b := range h.GetBucket() {
				if !math.IsInf(b.GetUpperBound(), 1) {
					add(b.GetUpperBound(), b.GetCumulativeCount())
				}
			}
			add(math.Inf(1), h.GetSampleCount())
		}
	}
	return out
}

// since returns by how much a reading has grown since an earlier one. Counters of which there was
// none began at 0.
func (r reading) since(then reading) reading {
	grown := func(now, then float64) float64 {
		if math.IsNaN(then) {
			then = 0
		}
		return max(0, now-then)
	}
	out := reading{value: grown(r.value, then.value), of: grown(r.of, then.of)}
	for _, b := range r.buckets {
		if i := slices.IndexFunc(then.buckets, func(t bucket) bool { return t.end == b.end }); i >= 0 {
			b.count = max(0, b.count-then.buckets[i].count)
		}
		out.buckets = append(out.buckets, b)
	}
	return out
}

// figure calculates a figure from the growth of its reading; NaN: nothing was counted.
func (r reading) figure(k Kind) float64 {
	switch k {
	case P50:
		return r.quantile(0.5)
	case P99:
		return r.quantile(0.99)
	}
	if !(r.of > 0) {
		return math.NaN()
	}
	return r.value / r.of
}

// quantile is linear within a bucket, as on the page; beyond the last end it is that end.
func (r reading) quantile(q float64) float64 {
	if len(r.buckets) == 0 || r.buckets[len(r.buckets)-1].count == 0 {
		return math.NaN()
	}
	wanted, from, below := q*r.buckets[len(r.buckets)-1].count, 0.0, 0.0
	for _, b := range r.buckets {
		switch {
		case b.count < wanted:
		case math.IsInf(b.end, 1):
			return from
		case b.count == below:
			return b.end
		default:
			return from + (b.end-from)*(wanted-below)/(b.count-below)
		}
		from, below = b.end, b.count
	}
	return math.NaN()
}
