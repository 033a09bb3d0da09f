package store

import (
	"context"
	"time"

	"dyno/services/orders/database"
)

// keepAudit makes the audit's partitions and drops old ones, daily, until ctx ends.
func (s *Store) keepAudit(ctx context.Context) {
	for {
		pause := 24 * time.Hour
		for i, d := range s.shards {
			if err := database.KeepAudit(ctx, s.options.owners()[i], s.options.AuditRetention, s.options.Log); err != nil && ctx.Err() == nil {
				s.options.Log.Warn("the audit's partitions could not be looked after; next try in 10 minutes", "database", d.where, "err", err)
				pause = 10 * time.Minute
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// prepare migrates the databases of a set, as their owners where there are any, and sees to the
// rights of the roles.
func (o Options) prepare(ctx context.Context) error {
	if err := database.MigrateShards(ctx, o.owners()); err != nil {
		return err
	}
	for i, text := range o.DSNs {
		config, err := database.ParseDSN(text, database.Primary)
		if err == nil && len(o.Owners) > 0 {
			err = database.Grant(ctx, o.Owners[i], config.User)
		}
		if err == nil {
			err = database.WarnOfPower(ctx, text, o.Log)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// owners are the DSNs for what changes tables.
func (o Options) owners() []string {
	if len(o.Owners) > 0 {
		return o.Owners
	}
	return o.DSNs
}
