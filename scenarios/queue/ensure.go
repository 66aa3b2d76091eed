package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keepFor is how long items and results that nobody asks for stay on a server.
const keepFor = 7 * 24 * time.Hour

// openWork returns the stream of all items and the consumer of the link's version, and makes what is missing.
func (l *link) openWork(ctx context.Context) (jetstream.Stream, jetstream.Consumer, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	s, err := l.js.Stream(ctx, workStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: workStream, Description: "items of work of sim", Subjects: []string{workSubject + ".*.*.*"},
			Retention: jetstream.WorkQueuePolicy, MaxAge: keepFor, AllowDirect: true,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another was quicker
			s, err = l.js.Stream(ctx, workStream)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the stream %s cannot be opened: %w", l.where, workStream, err)
	}
	if c := s.CachedInfo().Config; c.Retention != jetstream.WorkQueuePolicy || !c.DiscardNewPerSubject || c.MaxMsgsPerSubject != 1 {
		return nil, nil, fmt.Errorf("%s: the stream %s is no work queue of sim's; remove it", l.where, workStream)
	}
	name := consumerName(token(l.Version))
	c, err := s.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = s.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: workSubject + "." + token(l.Version) + ".*.*", Metadata: map[string]string{"version": l.Version},
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.AckWait, MaxDeliver: -1,
			MaxAckPending: -1, MaxWaiting: 16384, InactiveThreshold: keepFor,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = s.Consumer(ctx, name)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the stream %s has no consumer for version %s: %w", l.where, workStream, l.Version, err)
	}
	return s, c, nil
}

// openResults returns the stream of a batch's results, which it makes if it is missing.
func (l *link) openResults(ctx context.Context, p place) (jetstream.Stream, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	s, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: p.stream(), Description: "results of sim, not yet fetched", Subjects: []string{p.done(">")}, MaxAge: keepFor, AllowDirect: true,
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // as another made it
		s, err = l.js.Stream(ctx, p.stream())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the stream %s cannot be opened: %w", l.where, p.stream(), err)
	}
	return s, nil
}

// gone reports whether an error means that the stream, the bucket or the consumer is not there, so that it must be made
// again.
func gone(err error) bool {
	for _, target := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrNoStreamResponse, nats.ErrNoResponders, jetstream.ErrJetStreamNotEnabled, // so it calls nobody's answer
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// trouble decides what to do about errors of the queue that may pass: it waits a little longer each time, says once
// what is wrong and gives up where it lasts as long as a lost connection may.
type trouble struct {
	l     *link
	doing string // "storing results"
	since time.Time
	wait  time.Duration
}

// over says that it worked.
func (t *trouble) over() { t.since, t.wait = time.Time{}, 0 }

// pause waits; its error is final.
func (t *trouble) pause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return t.l.lostError()
	}
	now := time.Now()
	switch {
	case t.since.IsZero():
		t.since, t.wait = now, 10*time.Millisecond
	case now.Sub(t.since) > t.l.Reconnect && t.l.nc.IsConnected():
		return fmt.Errorf("%s: %s has failed for %v: %w", t.l.where, t.doing, t.l.Reconnect, err)
	case t.wait >= 500*time.Millisecond && t.wait < time.Second:
		t.l.Log("%s: %s fails: %v; trying again", t.l.where, t.doing, err)
	}
	if !pause(ctx, t.wait) {
		return context.Cause(ctx)
	}
	t.wait = min(2*t.wait, 2*time.Second)
	return nil
}
