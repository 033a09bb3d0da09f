package arena

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/services/arena/game"
	"dyno/services/arena/room"
)

// Bots are bounded in sum, and their places come free with their rooms.
func TestBotsAreBounded(t *testing.T) {
	l := newLobby(assembly.Defaults[Config](), &room.Stats{Lateness: func(time.Duration) {}}, slog.New(slog.DiscardHandler))
	defer l.close()
	full := asked{Capacity: game.MaxPlayers, Bots: game.MaxPlayers}
	made := 0
	for many := (errTooMany{}); ; made++ {
		if _, err := l.create(full); errors.As(err, &many) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if made*full.Bots > maxBots || (made+1)*full.Bots <= maxBots {
		t.Errorf("%d rooms of %d bots were made, with at most %d", made, full.Bots, maxBots)
	}
	if _, err := l.create(asked{Capacity: 2}); err != nil {
		t.Errorf("a room without bots: %v", err)
	}
	l.remove(l.all()[0].ID, full.Bots)
	if _, err := l.create(full); err != nil {
		t.Errorf("when a room has ended: %v", err)
	}
}
