package probe

import "iter"

// moment is an entry of a timeline. It holds sums that grow, and extremes since the previous
// moment.
type moment[T any] interface {
	when() int64                 // ns, monotonic; 0: there is no moment at this boundary
	between(next T, at int64) T  // the moment at an instant between the two, with linearly interpolated sums
	followedBy(next T) (union T) // next, with the extremes of both
}

const (
	recentMoments = 3000 // full resolution for 5 minutes
	maxFilled     = 10   // boundaries: a gap longer than 1 s is not filled in
	pastStep      = 100  // initial number of boundaries per moment of the past: 10 s
	maxPast       = 4096 // when past has as many, pairs are merged: 11 hours at 10 s, 22 hours at 20 s, ...
)

// timeline keeps the moments at the boundaries between windows: every one of the last 5 minutes,
// and one per step boundaries of the time before. So a run of any length takes bounded memory.
// Moments must be added in the order of their times. The zero timeline is empty.
type timeline[T moment[T]] struct {
	recent []T   // ring buffer: boundary k is at index k modulo its length
	first  int64 // recent holds the boundaries from first to next-1
	next   int64

	past    []T // the moments before recent, oldest first
	step    int // boundaries per moment of past; 0: pastStep
	pending T   // merged moments that are older than recent, and not yet in past
	inPend  int
}

// boundary returns the number of the boundary nearest to an instant.
func boundary(at int64) int64 { return (at + window/2) / window }

// add adds a moment. If few boundaries before it were missed, add fills them in.
func (t *timeline[T]) add(m T) {
	k := boundary(m.when())
	if t.recent == nil {
		t.recent = make([]T, recentMoments)
		t.first, t.next = k, k
	}
	if k < t.next {
		return // this boundary already has a moment, or was passed
	}
	if k-t.next >= recentMoments {
		for t.first < t.next {
			t.forget()
		}
		t.first, t.next = k, k
	}
	last, missed := t.next-1, k-t.next
	before, seen := t.at(last)
	for t.next < k {
		var filled T
		if seen && missed <= maxFilled {
			filled = before.between(m, t.next*window)
		}
		t.append(filled)
	}
	t.append(m)
}

func (t *timeline[T]) append(m T) {
	if t.next-t.first == recentMoments {
		t.forget()
	}
	t.recent[t.next%recentMoments] = m
	t.next++
}

// forget moves the oldest recent moment into the past.
func (t *timeline[T]) forget() {
	var none T
	old := t.recent[t.first%recentMoments]
	t.recent[t.first%recentMoments] = none
	t.first++
	if old.when() == 0 {
		return
	}
	if t.inPend == 0 {
		t.pending = none
	}
	t.pending = join(t.pending, old)
	t.inPend++
	if t.step == 0 {
		t.step = pastStep
	}
	if t.inPend < t.step {
		return
	}
	t.past, t.inPend = append(t.past, t.pending), 0
	if len(t.past) < maxPast {
		return
	}
	for i := range maxPast / 2 {
		t.past[i] = join(t.past[2*i], t.past[2*i+1])
	}
	clear(t.past[maxPast/2:])
	t.past, t.step = t.past[:maxPast/2], 2*t.step
}

func join[T moment[T]](a, b T) T {
	if a.when() == 0 {
		var none T
		return none.followedBy(b)
	}
	return a.followedBy(b)
}

// at returns the moment at a boundary; false: there is none, or it is no longer kept at full
// resolution.
func (t *timeline[T]) at(k int64) (T, bool) {
	var none T
	if k < t.first || k >= t.next {
		return none, false
	}
	m := t.recent[k%recentMoments]
	return m, m.when() != 0
}

// passed reports whether it is too late to add a moment at boundary k.
func (t *timeline[T]) passed(k int64) bool { return t.next > k }

// all iterates over all moments, oldest first.
func (t *timeline[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, m := range t.past {
			if !yield(m) {
				return
			}
		}
		if t.inPend > 0 && !yield(t.pending) {
			return
		}
		for k := t.first; k < t.next; k++ {
			if m, seen := t.at(k); seen && !yield(m) {
				return
			}
		}
	}
}

// span returns the moments at two instants; last has the extremes of the time between them. Where
// the past is too coarse, span interpolates the sums, and the extremes cover up to one step more.
// ok is false if fewer than two moments are known there.
func (t *timeline[T]) span(from, to int64) (first, last T, ok bool) {
	var before T
	kFrom, kTo := boundary(from), boundary(to)
	for m := range t.all() {
		k := boundary(m.when())
		seen := before.when() != 0
		switch {
		case k <= kFrom:
			first = m
		case first.when() == 0 && k < kTo:
			first = m
		case first.when() == 0:
			return first, last, false
		default:
			if last.when() == 0 && boundary(before.when()) < kFrom {
				first = before.between(m, from)
			}
			if k > kTo {
				if seen && boundary(before.when()) < kTo {
					last = join(last, before.between(m, to))
				}
				return first, last, last.when() > first.when()
			}
			last = join(last, m)
		}
		before = m
	}
	return first, last, last.when() > first.when()
}
