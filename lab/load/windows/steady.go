package windows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// warmupTag replaces record.HistResponse in the tags of windows that do not count yet.
const warmupTag = "warmup"

// relaySteady adds the stream's windows to a recording until the plan's measured time is over.
func relaySteady(ctx context.Context, s *stream, p *load.Plan, rec *load.Recorder) error {
	var shard *load.Shard
	backlog, counting := int64(0), false
	for ctx.Err() == nil {
		w, err := s.next()
		if errors.Is(err, errEnd) || errors.Is(err, errNoMeasure) {
			return tooShort(s, p, shard != nil)
		}
		if err != nil {
			return err
		}
		if shard == nil {
			p.Start = w.Start
			// What the job did before the lab was ready to observe it is part of the warm-up.
			p.Warmup += time.Duration(max(0, (s.began-w.Start)/windowLength*windowLength))
			shard = rec.Shards(1)[0]
		}
		if from := p.MeasureFrom(); w.Start > from && !counting { // the first window that counts was empty, so the stream left it out
			quiet := record.Window{Start: from, Phase: record.PhaseMeasure, Client: record.Client{Backlog: backlog}}
			if err := shard.Window(&quiet, nil); err != nil {
				return err
			}
			counting = true
		}
		if w.Start >= p.SendUntil() {
			rec.EndAt(p.SendUntil())
			return nil
		}
		rec.EndAt(w.Start + windowLength)
		if w.Start < p.MeasureFrom() {
			w.warm()
		} else {
			w.count()
			counting = true
		}
		backlog = w.Client.Backlog
		if err := shard.Window(&w.Window, w.hists); err != nil {
			return err
		}
		if w.Start+windowLength >= p.SendUntil() {
			return nil // no later window can count
		}
	}
	return ctx.Err()
}

// tooShort returns the error for a job whose work was done before the measured time was over.
func tooShort(s *stream, p *load.Plan, began bool) error {
	worked := time.Duration(0)
	if began {
		worked = time.Duration(s.after - p.Start)
	}
	return fmt.Errorf("the job's work was done after %v, and a run takes %v of it (%v of warm-up): give it more to do, or measure it from its start to its end (load.units)",
		worked, p.Warmup+p.Length, p.Warmup)
}

// warm turns a window into one of the warm-up.
func (w *window) warm() {
	w.Phase = record.PhaseWarmup
	hists := map[string]*hdrhistogram.Histogram{}
	for tag, h := range w.hists {
		kind, rest, _ := strings.Cut(tag, ".")
		if kind == record.HistResponse || kind == warmupTag {
			merge(hists, warmupTag+"."+rest, h)
		}
	}
	w.hists = hists
}

// count turns a window into a measured one. A unit counts in the window in which it is done,
// whenever it began, so the window's offered units are set to its completed ones. At the end of
// the run about as many units are in progress as at its beginning; they count neither as lost nor
// as late.
func (w *window) count() {
	w.Phase = record.PhaseMeasure
	w.Client.Offered = w.Client.Ended
	hists := map[string]*hdrhistogram.Histogram{}
	for tag, h := range w.hists {
		if rest, warm := strings.CutPrefix(tag, warmupTag+"."); warm {
			tag = record.HistResponse + "." + rest
		}
		merge(hists, tag, h)
	}
	w.hists = hists
}

// merge adds a histogram under a tag.
func merge(hists map[string]*hdrhistogram.Histogram, tag string, h *hdrhistogram.Histogram) {
	have := hists[tag]
	if have == nil {
		hists[tag] = h
		return
	}
	sum := record.NewHistogram() // it drops values above its range; the recording then rejects the window, because its counts differ
	sum.Merge(have)
	sum.Merge(h)
	hists[tag] = sum
}
