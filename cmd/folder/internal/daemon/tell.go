package daemon

import (
	"context"
	"os"

	"sessionfold/cmd/folder/internal/telemetry"
)

// tell sets telemetry up and gives what ends it, which comes last of a stop: what
// is closed before may still tell something.
func (d *Daemon) tell(ctx context.Context) (end func()) {
	instance := d.cfg.Kafka.Instance
	if instance == "" {
		instance, _ = os.Hostname() // without one the worker does not start
	}
	log := d.log
	ctx = context.WithoutCancel(ctx) // what is told of the stop goes out too
	d.told = telemetry.Start(ctx, telemetry.Options{
		Version: d.build.Version, Instance: instance, Group: d.cfg.Kafka.Group, ChangesTopic: d.cfg.ChangesTopic(),
		Own: d.metrics.registry, Prometheus: d.metrics.conventions, Log: log, Level: d.level,
	})
	d.log = d.told.Logger(log)
	return func() {
		if err := d.told.Shutdown(ctx); err != nil {
			log.Warn("the last of telemetry could not be handed over", "err", err)
		}
	}
}
