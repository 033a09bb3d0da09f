package delta

import "dyno/services/arena/game"

// Near appends to dst the entities that a viewer sees: itself, and those at most a radius away, in
// units. A viewer that is not among them sees all: it watches the room.
func Near(dst, all []game.Entity, viewer uint32, radius int32) []game.Entity {
	me, _ := find(all, viewer)
	if me == nil {
		return append(dst, all...)
	}
	for i := range all {
		if within(me, &all[i], int64(radius)) {
			dst = append(dst, all[i])
		}
	}
	return dst
}

// within is whether two entities are at most a radius away from each other.
func within(a, b *game.Entity, radius int64) bool {
	dx, dy := int64(a.X)-int64(b.X), int64(a.Y)-int64(b.Y)
	if max(dx, -dx) > radius || max(dy, -dy) > radius {
		return a == b
	}
	return dx*dx+dy*dy <= radius*radius
}
