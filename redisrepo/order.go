package redisrepo

// Order is the key that a listing is sorted by. The zero value is invalid.
type Order int

// The orders. Articles with equal keys are sorted by the bytes of their members, as in Redis.
const (
	ByScore Order = iota + 1
	ByTime
)

func (o Order) prefix() string {
	if o == ByTime {
		return "time:"
	}
	return "score:"
}

// Direction is the direction of an order. The zero value is invalid.
type Direction int

// The directions.
const (
	Descending Direction = iota + 1
	Ascending
)
