package servers

import (
	"math"
	"time"
)

// timeConstant of the slow average, in seconds: rippled's decay window.
const timeConstant = 32

// slots divide a second.
const slots = 10

// meter counts the units of the last second, with a resolution of a tenth of it, and a decayed
// average.
type meter struct {
	counts  [slots]float64
	current int64 // number of the current slot
	decayed float64
	at      time.Time
}

func (m *meter) add(now time.Time, units float64) {
	m.advance(now)
	m.counts[m.current%slots] += units
	m.decayed += units / timeConstant
}

func (m *meter) lastSecond(now time.Time) (sum float64) {
	m.advance(now)
	for _, n := range m.counts {
		sum += n
	}
	return sum
}

func (m *meter) average(now time.Time) float64 {
	m.advance(now)
	return m.decayed
}

// advance clears the slots that are older than a second. Earlier times count as the latest one.
func (m *meter) advance(now time.Time) {
	slot := now.UnixNano() / int64(time.Second/slots)
	for i := max(m.current+1, slot-slots+1); i <= slot; i++ {
		m.counts[i%slots] = 0
	}
	m.current = max(m.current, slot)
	if passed := now.Sub(m.at); passed > 0 {
		m.decayed *= math.Exp(-passed.Seconds() / timeConstant)
		m.at = now
	}
}
