package queue

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func TestEmbedded(t *testing.T) {
	clean(t)
	const n = 500
	j := &journal{t: t}
	r := newResults(t)
	err := Publish(context.Background(), Options{URL: EmbeddedURL, Embed: embed, Name: "a sweep: 1/2", Version: "v1.2+x", Workers: 3, Run: echo, Log: j.log}, numbered(n), r.done)
	if err != nil {
		t.Fatal(err)
	}
	r.check(want(n))
	if len(j.lines) > 0 {
		t.Errorf("a quiet run said %q", j.lines)
	}
}

func TestEmbeddedListens(t *testing.T) {
	b := newBed(t)
	address := freeAddress(t)
	o := Options{URL: EmbeddedURL, Embed: embed, Listen: "secret@" + address, Name: "n", Version: "1", Log: b.j.log}
	r := newResults(t)
	ended := make(chan error, 1)
	go func() { ended <- Publish(context.Background(), o, numbered(50), r.done) }()
	eventually(t, "the server says where it is", func() bool { return b.j.count(address) == 1 })
	w := b.workerOptions()
	w.URL = "nats://wrong@" + address
	if err := Work(context.Background(), w, echo); err == nil || !strings.Contains(err.Error(), "does not accept") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token gives: %v", err)
	}
	w.URL = "nats://secret@" + address
	ctx, cancel := context.WithCancel(context.Background())
	worker := make(chan error, 1)
	go func() { worker <- Work(ctx, w, echo) }()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.check(want(50))
	cancel()
	if err := <-worker; err != nil {
		t.Error(err)
	}
	if b.j.count("secret") > 0 {
		t.Errorf("the token was logged: %q", b.j.lines)
	}
}

// A store that is kept lets an embedded batch go on.
func TestEmbeddedKeepsItsStore(t *testing.T) {
	clean(t)
	var runs counter
	o := Options{URL: EmbeddedURL, Embed: embed, Dir: t.TempDir(), Name: "n", Version: "1", Workers: 2}
	release := make(chan struct{})
	o.Run = runs.count(func(ctx context.Context, payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return echo(ctx, payload)
	})
	stop := errors.New("enough")
	first := newResults(t)
	first.after = func(n int) error {
		if n == 5 {
			return stop
		}
		return nil
	}
	if err := Publish(context.Background(), o, numbered(20), first.done); !errors.Is(err, stop) {
		t.Fatalf("done's error came back as %v", err)
	}
	close(release)
	second := newResults(t)
	if err := Publish(context.Background(), o, numbered(20), second.done); err != nil {
		t.Fatal(err)
	}
	second.check(want(20))
}
