package recording

import (
	"testing"

	"dyno/parts/vfs/faultdisk"
	"dyno/services/arena/game"
)

// nowhere takes blocks, and writes none.
type nowhere struct{}

func (nowhere) Try(string, func()) bool { return true }

// BenchmarkTick records a tick of 50 players with two commands each.
func BenchmarkTick(b *testing.B) {
	b.ReportAllocs()
	w := &Writer{file: &file{background: nowhere{}, spare: make(chan []byte, 1)}}
	for n := range b.N {
		for id := uint32(1); id <= 50; id++ {
			for range game.PerTick {
				w.Apply(id, game.Command{Buttons: uint32(n+int(id)) & 31, Aim: int32(n*1000) & 0xffff, ViewTick: uint32(n)})
			}
		}
		w.Step(uint64(n))
		w.file.behind.Store(0)
	}
}

// BenchmarkReplay replays ticks of 4 bots and 2 players.
func BenchmarkReplay(b *testing.B) {
	disk := faultdisk.New()
	r := on(b, disk, Header{})
	r.play(b.N)
	if err := r.rec.Close(); err != nil {
		b.Fatal(err)
	}
	recorded := content(b, disk)
	b.ResetTimer()
	must(b, recorded, uint32(b.N), r.hash())
}
