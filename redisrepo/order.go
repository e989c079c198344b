package redisrepo

// Order is what a listing is sorted by. The zero value is none.
type Order int

// The orders. Equal keys are sorted by the bytes of the member, as Redis does.
const (
	ByScore Order = iota + 1
	ByTime
)

// Direction is which end of an order comes first. The zero value is none.
type Direction int

// The directions.
const (
	Descending Direction = iota + 1
	Ascending
)
