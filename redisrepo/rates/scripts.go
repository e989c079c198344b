package rates

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var rateScript = wire.Script(luaFiles, "rate.lua")
