package arena

import (
	"dyno/services/arena/auth"
	"dyno/services/arena/room"
	"dyno/services/arena/wire"
)

// join is the first message.
func (s *session) join(j *wire.Join) (*room.Room, error) {
	if j == nil {
		s.sessions.stats.Reject(room.ReasonMalformed)
		return nil, malformed("the first message is a Join")
	}
	if err := auth.CheckName(j.Name); err != nil {
		return nil, malformed(err.Error())
	}
	return s.enter(j)
}

// enter finds the room of a Join.
func (s *session) enter(j *wire.Join) (r *room.Room, err error) {
	all, id := s.sessions, j.Room
	switch {
	case j.Resume != "":
		id = room.RoomOf(j.Resume)
		if j.Token != "" { // without one, what has let its body in counts
			_, err = s.permit(j)
		}
		if err == nil {
			r, err = all.resume(s.client, j.Resume)
		}
	case j.Token != "" && !j.Spectate:
		if r = all.claim(s.client, j.Room, j.Token, all.permitted); r != nil {
			break
		}
		fallthrough
	default:
		var name string
		if name, err = s.permit(j); err != nil {
			break
		}
		r, err = all.lobby.enter(j.Room, func(r *room.Room) error {
			if j.Spectate {
				return r.Watch(s.client)
			}
			return r.Join(s.client, name)
		})
	}
	if err == nil {
		all.changed()
		return r, nil
	}
	text, known := texts[err]
	if url := all.owner(id); known && err != room.ErrFull && url != "" {
		return nil, &refusal{room.ErrNoRoom.Error(), "the room is at another server: " + url}
	}
	if known {
		err = &refusal{err.Error(), text}
	}
	return nil, err
}

var texts = map[error]string{
	room.ErrFull:   "the room has no place; join another, or watch it (spectate)",
	room.ErrNoRoom: "there is no such room; GET /v1/rooms lists those there are",
	room.ErrResume: "the token is not known, a newer one was used, or its player has left; join anew",
}
