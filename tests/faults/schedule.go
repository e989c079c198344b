package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// event is a fault of the schedule.
type event struct {
	at, lasts time.Duration
	fault     string
	server    int    // which server process is concerned, of faults that concern one
	random    uint64 // what else the fault has to choose
}

func (e event) ends() time.Duration { return e.at + e.lasts }

func (e event) String() string {
	return fmt.Sprintf("%6.2fs %-12s %.2fs, server %d, %d", e.at.Seconds(), e.fault, e.lasts.Seconds(), e.server, e.random%100)
}

const (
	quietStart    = time.Second            // nothing fails while the first articles are read
	meanPause     = 600 * time.Millisecond // between the beginnings of two faults
	shortestFault = 200 * time.Millisecond
	longestFault  = 3500 * time.Millisecond
	atOnce        = 4 // maximum number of concurrent faults
)

// schedule deals the faults like cards: each one occurs once before any occurs again. Two faults of the same kind
// never overlap.
func schedule(seed uint64, lasts time.Duration, faults []string) (events []event) {
	random := rand.New(rand.NewPCG(seed, 0))
	var deck []string
	for at := quietStart; ; at += between(random, meanPause/4, 2*meanPause-meanPause/4) {
		if len(deck) == 0 {
			deck = slices.Clone(faults)
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		if deck[0] == "flush" && random.IntN(4) > 0 { // it takes away what the other faults are judged by
			deck = deck[1:]
			continue
		}
		e := event{at: at, lasts: between(random, shortestFault, longestFault), fault: deck[0], server: random.IntN(processes), random: random.Uint64()}
		if e.ends() > lasts {
			return events
		}
		active := slices.DeleteFunc(slices.Clone(events), func(other event) bool { return other.ends() <= e.at })
		if len(active) == atOnce || slices.ContainsFunc(active, func(other event) bool { return kind(other.fault) == kind(e.fault) }) {
			continue // the same card comes later
		}
		deck = deck[1:]
		events = append(events, e)
	}
}

func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Int64N(int64(high-low)))
}

// kind is the part of a fault's name before the colon.
func kind(fault string) string {
	before, _, _ := strings.Cut(fault, ":")
	return before
}
