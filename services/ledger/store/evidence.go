package store

type shelf struct{}

func (s *Store) openShelf() error { return nil }
