package queue

import (
	"context"
	"strings"
	"testing"
)

func TestEmbedded(t *testing.T) {
	clean(t)
	const n = 500
	j := &journal{t: t}
	r := newResults(t)
	err := Publish(context.Background(), Options{Peer: Peer{URL: EmbeddedURL, Version: "v1.2+x", Workers: 3, Log: j.log}, Embed: embed, Name: "a sweep: 1/2", Run: echo}, numbered(n), r.done)
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
	o := Options{Peer: Peer{URL: EmbeddedURL, Version: "1", Log: b.j.log}, Embed: embed, Listen: "secret@" + address, Name: "n"}
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
